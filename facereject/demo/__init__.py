"""The demonstration: one photograph, degraded versions of it and a short video, all judged."""

from facereject.demo.make import Demo, make_demo
from facereject.demo.page import Judged

__all__ = ["Demo", "Judged", "make_demo"]
