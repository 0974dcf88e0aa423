"""Running one task over many items: in this process, in worker processes, on a Dask cluster."""

from facereject.parallel.base import Engine, EngineError, Outcome, Task
from facereject.parallel.cluster import DaskEngine
from facereject.parallel.processes import WorkerEngine
from facereject.parallel.serial import SerialEngine

__all__ = ["DaskEngine", "Engine", "EngineError", "Outcome", "SerialEngine", "Task", "WorkerEngine"]
