"""Damaged media files: each gets its rows, none ends a worker, none takes long, none takes much memory."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from facereject.parallel import WorkerEngine
from facereject.pipeline.task import Chunk, ScoreTask
from facereject.sources.inputs import Input, expand_inputs
from tools.stress.mutations import mutated
from tools.stress.samples import write_samples
from tools.stress.stub import Nobody
from tools.stress.trial import Trial

# files that are made, worked on and removed together
_BATCH = 100
# a damaged file of some kilobytes must not need more
_MAX_SECONDS = 20.0
_MAX_BYTES = 3 << 30


@dataclass(frozen=True)
class Measured:
    """The task of a run, with a limit of memory and the processor time of each item."""

    task: ScoreTask

    def __call__(self, item: Input) -> Iterator[tuple[Chunk, float]]:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_BYTES, hard))
        start = time.process_time()
        for chunk in self.task(item):
            yield chunk, time.process_time() - start


def fuzz(trial: Trial, folder: Path, count: int, rng: random.Random) -> None:
    """Try ``count`` damaged files."""
    samples = [(path, path.read_bytes()) for path in write_samples(folder)]
    task = Measured(ScoreTask(Nobody()))  # type: ignore[arg-type]
    engine = WorkerEngine(2)
    for first in range(0, count, _BATCH):
        if not trial.goes_on():
            return
        batch = folder / f"batch{first}"
        batch.mkdir()
        for number in range(first, min(first + _BATCH, count)):
            path, data = samples[number % len(samples)]
            _, other = rng.choice(samples)
            (batch / f"{number}{path.suffix}").write_bytes(mutated(data, rng, other))
        items = list(expand_inputs([str(batch)]))
        if len(items) != len(list(batch.iterdir())):
            trial.check(False, f"{len(items)} inputs were found of {len(list(batch.iterdir()))} files")
        n_chunks = 0
        for outcome in engine.run(task, items):
            chunk, seconds = outcome.chunk or (Chunk([]), 0.0)
            n_chunks += bool(chunk.frames)
            if outcome.last:
                name = Path(outcome.item.path).name
                failed = [frame.problem for frame in chunk.frames if frame.problem.startswith("failed")]
                why = outcome.error or "".join(failed)
                if seconds > _MAX_SECONDS:
                    why = f"took {seconds:.0f} s"
                trial.check(not why, f"{name}: {why}")
        for path in batch.iterdir():
            path.unlink()
        batch.rmdir()
