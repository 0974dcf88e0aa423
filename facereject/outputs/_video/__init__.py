"""Encoding videos and copying their sound."""
