"""Running one task over many items: in this process, in worker processes, on a Dask cluster."""

from .base import Engine, EngineError, Outcome, Task
from .cluster import DaskEngine
from .serial import SerialEngine
from .workers import WorkerEngine

__all__ = ["DaskEngine", "Engine", "EngineError", "Outcome", "SerialEngine", "Task", "WorkerEngine"]
