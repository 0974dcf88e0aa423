"""Landmarks with what is known of them, as files that other tools read."""
