"""Running one task over many items: in this process, in worker processes, on a Dask cluster."""

from facereject.parallel.base import Engine as Engine
from facereject.parallel.base import EngineError as EngineError
from facereject.parallel.base import Outcome as Outcome
from facereject.parallel.base import RunProgress as RunProgress
from facereject.parallel.base import SerialEngine as SerialEngine
from facereject.parallel.base import Task as Task
from facereject.parallel.cluster import DaskEngine
from facereject.parallel.processes import WorkerEngine as WorkerEngine

__all__ = ["DaskEngine"]
