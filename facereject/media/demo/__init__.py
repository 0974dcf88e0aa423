"""The demonstration: one photograph, spoiled versions of it and a short film, judged like any other input."""

from .make import Demo, Judged, make_demo

__all__ = ["Demo", "Judged", "make_demo"]
