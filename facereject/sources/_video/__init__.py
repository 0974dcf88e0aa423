"""Decoding video files with FFmpeg and animations with Pillow."""
