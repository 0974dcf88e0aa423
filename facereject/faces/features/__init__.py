"""What a score sees of a face."""
