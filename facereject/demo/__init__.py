"""The demonstration: one photo, degraded versions of it and a short video, all scored."""

from facereject.demo.make import Demo, make_demo
from facereject.demo.page import ScoredImage

__all__ = ["Demo", "ScoredImage", "make_demo"]
