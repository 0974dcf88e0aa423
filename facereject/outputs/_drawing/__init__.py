"""Faces, crops and text drawn on images."""
