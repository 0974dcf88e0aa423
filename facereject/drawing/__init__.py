"""Faces, crops and text drawn on pictures."""
