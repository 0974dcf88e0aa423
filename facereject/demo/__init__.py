"""The demonstration: one photograph, degraded versions of it and a short video, all judged."""

from facereject.demo.make import Demo, Judged, make_demo

__all__ = ["Demo", "Judged", "make_demo"]
