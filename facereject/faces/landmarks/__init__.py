"""Placing landmarks."""
