"""The engine for more than one machine: a Dask cluster that is already running."""

from __future__ import annotations

import functools
import hashlib
import logging
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import facereject
from facereject.parallel._worker import pack, pack_task, unpack
from facereject.parallel.base import EngineError, Feed, Outcome, Step, Task, check_count, describe, steps

#: packages that read files and find faces, by the distributions they may come from
_PACKAGES = {
    "dlib": ("dlib-bin", "dlib"),
    "OpenCV": ("opencv-python", "opencv-python-headless", "opencv-contrib-python"),
    "Pillow": ("pillow",),
    "pillow-heif": ("pillow-heif",),
    "PyAV": ("av",),
}

# what a worker says that has no facereject, or one too old to be asked
_LACKING, _OLD = "missing", "old"


@functools.lru_cache(maxsize=1)
def introduce() -> dict[str, str]:
    """What this process would work with: version and code of facereject, versions of packages."""
    return {
        "facereject": facereject.__version__,
        "code": _digest_of(Path(facereject.__file__).parent),
        **{name: _version_of(names) for name, names in _PACKAGES.items()},
    }


def question(task: bytes) -> Callable[[], dict[str, str]]:
    """A function to be run on every worker; it carries its own code, so that it needs no facereject there.

    Parameters
    ----------
    task : bytes
        The packed task. If it has a method ``fingerprint``, its text is part of the answer.
    """

    def answer() -> dict[str, str]:
        try:
            import facereject
        except ImportError as error:
            return {"missing": str(error)}
        try:
            from facereject.parallel.cluster import introduce_with
        except ImportError:
            return {"old": str(getattr(facereject, "__version__", "unknown"))}
        try:
            return introduce_with(task)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}

    return answer


def introduce_with(task: bytes) -> dict[str, str]:
    """As `introduce`, with the fingerprint of a packed task as it is here."""
    from facereject.parallel._worker import unpack

    try:
        fingerprint = getattr(unpack(task), "fingerprint", None)
    except Exception as error:
        return {**introduce(), "task": f"cannot be loaded, {describe(error)}"}
    return {**introduce(), "task": fingerprint() if fingerprint is not None else ""}


def check_answers(answers: Mapping[str, Any], expected: Mapping[str, str]) -> None:
    """Raise EngineError for the first worker whose answer is not the expected one; the message names it."""
    advice = "install this version of facereject, with the same extras, on every worker"
    for worker, answer in answers.items():
        if not isinstance(answer, Mapping):
            # it died during the check: its tasks run elsewhere
            continue
        if "error" in answer:
            raise EngineError(
                f"the Dask worker {worker} cannot say what it has ({answer['error']}); {advice}"
            )
        if _LACKING in answer:
            raise EngineError(f"the Dask worker {worker} has no facereject ({answer[_LACKING]}); {advice}")
        there = {"facereject": answer[_OLD]} if _OLD in answer else answer
        if there.get("facereject") != expected["facereject"]:
            text = f"has facereject {there.get('facereject')} and not {expected['facereject']}"
        elif there.get("code") != expected["code"]:
            text = f"has other code under the name of facereject {expected['facereject']}"
        elif there.get("task") != expected["task"]:
            if str(there.get("task")).startswith("cannot"):
                text = f"cannot load the task: {str(there['task']).removeprefix('cannot be loaded, ')}"
            else:
                text = "has another landmark predictor or model for this task"
        else:
            names = [name for name in _PACKAGES if there.get(name) != expected[name]]
            if not names:
                continue
            text = "; ".join(
                f"has {name} {there[name]} and not {expected[name]}" if there.get(name) else f"lacks {name}"
                for name in names
            )
        raise EngineError(f"the Dask worker {worker} {text}; it would answer otherwise: {advice}")


def _version_of(distributions: tuple[str, ...]) -> str:
    # slow to import, and wanted on clusters only
    from importlib import metadata

    for name in distributions:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return ""


def _digest_of(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        # line ends may differ between systems
        code = file.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{file.relative_to(folder).as_posix()} {len(code)}\n".encode() + code)
    return digest.hexdigest()


# items that are sent, and results that are fetched, in one go
_BATCH = 64

# begins the answer of a worker that does not have the item; no pickle begins like this
_MISSING = b"missing at "


class DaskEngine:
    """Runs the task on the workers of a Dask cluster.

    Items are sent as they are: workers must find files under the same names. If the task has a method
    ``missing`` that says that a worker cannot find an item, the item is tried once on another worker. The
    same version of the package must be installed on the workers: this is checked before they get work,
    and another version, other code or other packages to read images end the run. All chunks of an item
    are collected on the worker before they are sent. An item whose worker is lost runs again on another
    one. If Dask gives an item up (its workers died more often than the scheduler's ``allowed-failures``),
    it is tried once more when its turn comes, because Dask also counts items that only waited at the same
    worker, and then ends with an error. Closing the run cancels items that have not begun; the result of
    a running item is ignored.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``tcp://127.0.0.1:8786``.
    max_pending : int, default=500
        Largest number of items taken and not yet returned.
    timeout : float, default=5.0
        Seconds to wait for an answer of the scheduler.
    patience : float, default=60.0
        Seconds to wait for a worker if the cluster has none, before the run fails.

    See Also
    --------
    WorkerEngine : Runs in worker processes on this machine.

    Examples
    --------
    >>> from facereject.parallel import DaskEngine
    >>> from facereject.pipeline import score_files
    >>> engine = DaskEngine("tcp://127.0.0.1:8786")
    >>> score_files("photos", "faces.csv", engine=engine)  # doctest: +SKIP
    """

    def __init__(
        self, address: str, *, max_pending: int = 500, timeout: float = 5.0, patience: float = 60.0
    ) -> None:
        if not isinstance(address, str) or not address:
            raise ValueError(f"address must name a scheduler, such as tcp://127.0.0.1:8786; got {address!r}")
        for name, value in (("timeout", timeout), ("patience", patience)):
            if not value > 0:
                raise ValueError(f"{name} must be a positive number of seconds, got {value!r}")
        self.address = address
        self.max_pending = check_count("max_pending", max_pending)
        self.timeout = float(timeout)
        self.patience = float(patience)

    def run(self, task: Task, items: Iterable[Any]) -> Generator[Outcome, None, None]:
        """Apply the task to every item.

        Parameters
        ----------
        task : callable
            Turns an item into chunks.
        items : iterable
            The items; taken as they are needed.

        Returns
        -------
        outcome : Outcome
            An iterator of outcomes; see `Engine`.
        """
        packed = pack_task(task)
        try:
            import distributed
        except ImportError as error:
            raise EngineError(
                f"the dask engine needs Dask: pip install dask distributed ({describe(error)})"
            ) from error
        return self._run(distributed, packed, Feed(items))

    def _run(self, distributed: Any, task: bytes, feed: Feed) -> Generator[Outcome, None, None]:
        try:
            _check_address(distributed.comm, self.address)
            client = distributed.Client(
                self.address, timeout=self.timeout, set_as_default=False, name="facereject"
            )
        except Exception as error:
            raise EngineError(
                f"no Dask scheduler answers at {self.address} ({describe(error)}); "
                "check the address, or start one with: dask scheduler"
            ) from error
        pending: deque[_Submission] = deque()
        # they would list the keys of all results that are made again, and trace connections that are gone;
        # what cannot be mended is raised here
        levels = {logging.getLogger(f"distributed.{name}"): 0 for name in ("client", "batched")}
        for logger in levels:
            levels[logger] = logger.level
            logger.setLevel(logging.CRITICAL)
        try:
            job = _ClusterRun(self, distributed, client)
            job.greet(task)
            job.load(task)
            taken = 0
            while True:
                job.greet(task)
                # a batch at a time: results do not wait until a slow source has filled the cluster
                for item in islice(feed, min(_BATCH, self.max_pending - len(pending))):
                    entry = _Submission(taken, item)
                    taken += 1
                    pending.append(entry)
                    job.submit(entry)
                if not pending:
                    break
                for entry, results in zip(list(pending), job.collect(pending), strict=False):
                    pending.popleft()
                    for step in results:
                        yield Outcome(entry.index, entry.item, *step)
        finally:
            futures = [entry.future for entry in pending if entry.future is not None]
            _leave(client, futures)
            for logger, level in levels.items():
                logger.setLevel(level)
        if feed.error is not None:
            raise feed.error


def _check_address(comm: Any, address: str) -> None:
    """Raise ValueError for what is no address: a `Client` made of it prints tracebacks when it is deleted."""
    whole = comm.normalize_address(address)
    if whole.startswith(("tcp:", "tls:", "ws:", "wss:")):
        _, port = comm.get_address_host_port(whole, strict=True)
        if not 0 < port < 65_536:
            raise ValueError("its port is not from 1 to 65,535")


@dataclass(eq=False)
class _Submission:
    """An item that was taken and not yet handed out."""

    index: int
    item: Any
    future: Any = None
    error: str = ""
    attempts: int = 0
    missing_at: str = ""


class _ClusterRun:
    """What one run asks of the cluster: send the task and the items, collect the results."""

    def __init__(self, engine: DaskEngine, distributed: Any, client: Any) -> None:
        self.engine = engine
        self.distributed = distributed
        self.client = client
        # tuples with a common name: Dask then keeps waiting items at the scheduler, not in piles at workers
        self.name = f"facereject-{uuid.uuid4().hex}"
        self.task: Any = None
        self._greeted: set[str] = set()

    def greet(self, packed: bytes) -> None:
        """Ask the workers that were not asked yet what they have; EngineError if one does not fit."""
        new = [address for address in self._workers() if address not in self._greeted]
        if not new:
            return
        try:
            answers = self.client.run(question(packed), workers=new, on_error="return")
        except OSError as error:
            raise EngineError(f"the Dask scheduler at {self.engine.address} is gone") from error
        check_answers(answers, introduce_with(packed))
        self._greeted.update(address for address, answer in answers.items() if isinstance(answer, dict))

    def load(self, packed: bytes) -> None:
        """Send the task once. As the result of a call it is made again if the worker that has it is lost."""
        self.task = self.client.submit(unpack, packed, key=f"{self.name}-task", pure=False)
        self.wait_for(self.task)
        if self.task.status == "error":
            raise EngineError(
                f"a Dask worker cannot load the task: {describe(self.task.exception())}; "
                "install this version of facereject on every worker"
            )

    def submit(self, entry: _Submission) -> None:
        try:
            packed = pack(entry.item)
        except Exception as error:
            entry.error = f"the item cannot be sent to a worker: {describe(error)}"
            return
        entry.attempts += 1
        key = (self.name, entry.index, entry.attempts)
        options: dict[str, Any] = {}
        if entry.missing_at:
            others = [address for address in self._workers() if address != entry.missing_at]
            options = {"workers": others, "allow_other_workers": True} if others else {}
        entry.future = self.client.submit(
            _work_on, self.task, packed, not entry.missing_at, key=key, pure=False, **options
        )

    def wait_for(self, future: Any) -> None:
        """Wait for one future as long as there is a scheduler and a worker."""
        # imported where it is needed: it takes longer than all of this module
        from asyncio import CancelledError

        alone_since = None
        while not future.done():
            try:
                # fetches no result; the function `wait` would need a client for the whole program
                future.exception(timeout=1.0)
                continue
            except CancelledError:
                break
            except (TimeoutError, self.distributed.TimeoutError):
                pass
            if self._workers():
                alone_since = None
            elif alone_since is None:
                alone_since = time.monotonic()
            elif time.monotonic() - alone_since > self.engine.patience:
                raise EngineError(
                    f"the Dask cluster at {self.engine.address} had no worker for "
                    f"{self.engine.patience:g} s; start one with: dask worker {self.engine.address}"
                )
        if future.cancelled():
            raise EngineError(f"the Dask scheduler at {self.engine.address} dropped the work or is gone")

    def _workers(self) -> list[str]:
        """The addresses of the workers there are; EngineError if the scheduler is gone."""
        gone = f"the Dask scheduler at {self.engine.address} is gone"
        if self.client.status != "running":
            raise EngineError(gone)
        try:
            return list(self.client.nthreads())
        except OSError as error:
            # it went between the two questions
            raise EngineError(gone) from error

    def collect(self, pending: deque[_Submission]) -> list[list[Step]]:
        """The steps of the first entry, and of those behind it that are done as well."""
        head = pending[0]
        if head.future is None:
            return [[Step(None, True, head.error)]]
        self.wait_for(head.future)
        if head.future.status == "error":
            return [self._failed(head)]
        batch: list[Any] = []
        for entry in pending:
            if len(batch) == _BATCH or entry.future is None or entry.future.status != "finished":
                break
            batch.append(entry.future)
        try:
            results = self.client.gather(batch)
        except Exception:
            # a worker was lost with results and they could not be made again: find out whose, one by one
            if len(batch) == 1:
                return [self._failed(head)]
            return self.collect(deque([head]))
        for entry, packed in zip(pending, results, strict=False):
            if packed.startswith(_MISSING):
                entry.missing_at = packed.removeprefix(_MISSING).decode()
                self.submit(entry)
        if head.future is not batch[0]:
            return self.collect(pending)
        return [
            _steps(packed) for packed in takewhile(lambda packed: not packed.startswith(_MISSING), results)
        ]

    def _failed(self, entry: _Submission) -> list[Step]:
        error = entry.future.exception()
        if error is None:
            # done, but its result cannot be fetched: the scheduler is gone, or the worker that had it
            self._workers()
        elif not isinstance(error, self.distributed.KilledWorker):
            return [Step(None, True, describe(error))]
        if entry.attempts > 1:
            return [Step(None, True, "its worker processes died, each time it was tried")]
        self.submit(entry)
        return self.collect(deque([entry]))[0]


def _work_on(task: Task, packed: bytes, may_miss: bool = False) -> bytes:
    """On the worker: all steps of one item, packed here, since Dask does not survive what cannot be.

    With ``may_miss`` an item that is missing here is sent back, with the address of the worker.
    """
    try:
        item = unpack(packed)
    except Exception as error:
        return pack([(None, True, f"the item cannot be unpickled: {describe(error)}")])
    missing = getattr(task, "missing", None) if may_miss else None
    if missing is not None and missing(item):
        from distributed import get_worker

        return _MISSING + str(get_worker().address).encode()
    results = [tuple(step) for step in steps(task, item)]
    try:
        return pack(results)
    except Exception as error:
        return pack([(None, True, f"the chunks cannot be pickled: {describe(error)}")])


def _steps(packed: bytes) -> list[Step]:
    try:
        return [Step(*step) for step in unpack(packed)]
    except Exception as error:
        return [Step(None, True, f"the chunks cannot be unpickled: {describe(error)}")]


def _leave(client: Any, futures: list[Any]) -> None:
    """Cancel what is left and hang up; a scheduler that is gone already is no further trouble."""
    with suppress(Exception):
        if futures and client.status == "running":
            client.cancel(futures, force=True)
    client.close(timeout=5)
