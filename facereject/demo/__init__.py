"""The demonstration: one photo, degraded versions of it and a short video, all scored."""
