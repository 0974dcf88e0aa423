"""Finding faces."""
