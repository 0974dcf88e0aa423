"""Outputs of a live camera: a window, lines of JSON, a recording, a virtual camera."""
