"""Images: recognising, opening safely and decoding image files."""
