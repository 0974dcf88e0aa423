"""From annotated photographs to a calibrated rejector."""
