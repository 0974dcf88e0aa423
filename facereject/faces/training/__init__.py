"""From annotated photos to a calibrated rejector."""
