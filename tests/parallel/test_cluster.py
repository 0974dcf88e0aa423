"""The Dask engine against a real scheduler and real worker processes on the loopback."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import PIL.Image
import pytest
from typer.testing import CliRunner
from video_files import encode, picture

from facereject._cli import app
from facereject.faces import FaceRejector
from facereject.parallel import DaskEngine, EngineError
from facereject.parallel._worker import pack_task
from facereject.parallel.base import SerialEngine
from facereject.parallel.cluster import _ClusterRun, _Submission, check_answers, introduce_with
from facereject.pipeline.run import score_inputs
from facereject.pipeline.store import Store
from facereject.pipeline.task import ScoreTask
from facereject.sources.inputs import Input

distributed = pytest.importorskip("distributed")

# longer than anything here takes, even on a busy machine; only a failure waits for it
PATIENCE = 60.0


def slow_square(item: int) -> list[int]:
    time.sleep(0.02)
    return [item**2]


def square_and_process(item: int) -> list[tuple[int, int]]:
    time.sleep(0.02)
    return [(item**2, os.getpid())]


def count_down(item: int) -> Iterator[tuple[int, int]]:
    for left in reversed(range(item)):
        yield item, left


def misbehave(item: str) -> Iterator[object]:
    yield "first"
    match item:
        case "raise":
            raise ValueError("two\nlines")
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "unpicklable":
            yield threading.Lock()
    yield "second"


class Cluster:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        self.start("scheduler", "--port", "0", "--no-show", "--no-jupyter", "--scheduler-file", str(file))
        end = time.monotonic() + PATIENCE
        while not (file.exists() and file.read_text().endswith("}")):
            assert time.monotonic() < end, self.log()
            time.sleep(0.05)
        self.address = json.loads(file.read_text())["address"]

    def start(self, role: str, *options: str) -> subprocess.Popen[bytes]:
        paths = os.pathsep.join([*map(str, Path(__file__).parents[:2]), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "dask", role, "--host", "127.0.0.1", "--no-dashboard", *options]
        with open(self.folder / "log", "ab") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=self.folder)
        self.processes.append(process)
        return process

    def need_workers(self, number: int) -> list[subprocess.Popen[bytes]]:
        """All workers, after starting as many as are missing."""
        workers = [each for each in self.processes[1:] if each.poll() is None]
        options = ("--no-nanny", "--nthreads", "1", "--nworkers", "1", self.address)
        return workers + [self.start("worker", *options) for _ in range(number - len(workers))]

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.kill()
        for process in self.processes:
            process.wait()

    def log(self) -> str:
        return (self.folder / "log").read_text()


@pytest.fixture(scope="module")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.stop()


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Cluster:
    shared_cluster.need_workers(2)
    return shared_cluster


def test_outcomes_are_those_of_a_plain_loop(cluster: Cluster) -> None:
    items = [3, 0, 1, 5, 2] * 20
    outcomes = list(DaskEngine(cluster.address).run(count_down, items))
    expected = [
        (index, item, chunk, i == max(item - 1, 0))
        for index, item in enumerate(items)
        for i, chunk in enumerate(list(count_down(item)) or [None])
    ]
    assert [each[:4] for each in outcomes] == expected


class FindsFiles:
    """Tells which process has read a file; one process does not see any."""

    def __init__(self, blind: int) -> None:
        self.blind = blind

    def missing(self, path: str) -> bool:
        return os.getpid() == self.blind or not os.path.exists(path)

    def __call__(self, path: str) -> list[tuple[str, int]]:
        return [("found" if os.path.exists(path) else "unreadable", os.getpid())]


def test_what_one_worker_does_not_see_is_tried_elsewhere(cluster: Cluster, tmp_path: Path) -> None:
    engine, client = DaskEngine(cluster.address), distributed.Client(cluster.address, set_as_default=False)
    with client:
        client.wait_for_workers(2, timeout=PATIENCE)
        blind = next(iter(client.run(os.getpid).values()))
    (tmp_path / "here").touch()
    names = ["here", "nowhere", "here"] * 30
    outcomes = list(engine.run(FindsFiles(blind), [str(tmp_path / name) for name in names]))
    assert [each.index for each in outcomes] == list(range(90))
    found = ["found" if name == "here" else "unreadable" for name in names]
    assert [each.chunk[0] for each in outcomes] == found
    assert blind not in {each.chunk[1] for each in outcomes if each.chunk[0] == "found"}


def test_errors_cost_their_item_only(cluster: Cluster) -> None:
    items = ["fine", "raise", "unpicklable", threading.Lock(), "fine"]
    last = [each for each in DaskEngine(cluster.address).run(misbehave, items) if each.last]
    assert [each.index for each in last] == [0, 1, 2, 3, 4]
    assert last[1].error == "ValueError: two lines"
    assert last[2].error.startswith("the chunks cannot be pickled: TypeError")
    assert last[3].error.startswith("the item cannot be sent to a worker: TypeError")
    assert last[0].error == last[4].error == ""


def test_items_are_taken_as_needed_and_closing_cancels(cluster: Cluster) -> None:
    taken = []

    def items() -> Iterator[int]:
        for i in range(10**9):
            taken.append(i)
            yield i

    run = DaskEngine(cluster.address, max_pending=20).run(slow_square, items())
    for expected in range(50):
        assert next(run).chunk == expected**2
        assert len(taken) <= expected + 1 + 20
    run.close()
    # nothing of the old run is in the way of a new one
    assert [each.chunk for each in DaskEngine(cluster.address).run(slow_square, [3])] == [9]


def test_an_error_of_the_items_comes_after_the_outcomes_before_it(cluster: Cluster) -> None:
    def items() -> Iterator[int]:
        yield from range(3)
        raise OSError("the folder has gone")

    run = DaskEngine(cluster.address).run(slow_square, items())
    assert [next(run).chunk for _ in range(3)] == [0, 1, 4]
    with pytest.raises(OSError, match="the folder has gone"):
        next(run)


def test_a_lost_worker_costs_nothing(cluster: Cluster) -> None:
    """One of two workers is killed in the middle; every item is there once, in order."""
    processes = {each.pid: each for each in cluster.need_workers(2)}
    with distributed.Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
    outcomes, seen, killed = [], set(), False
    for outcome in DaskEngine(cluster.address).run(square_and_process, range(150)):
        outcomes.append(outcome)
        seen.add(outcome.chunk[1])
        if len(seen) == 2 and not killed:
            processes[outcome.chunk[1]].kill()
            killed = True
    assert killed
    assert [each.index for each in outcomes] == list(range(150))
    assert [each.chunk[0] for each in outcomes] == [i**2 for i in range(150)]
    assert all(each.last and not each.error for each in outcomes)


def test_an_item_that_kills_workers_fails_alone(cluster: Cluster) -> None:
    # three lost workers are allowed by default; with none, the test need not wait for four to start
    with distributed.Client(cluster.address, set_as_default=False) as client:
        client.run_on_scheduler(_allow_no_failure)
    cluster.need_workers(3)
    items = ["fine", "die", "fine", "fine"]
    last = [each for each in DaskEngine(cluster.address).run(misbehave, items) if each.last]
    assert [each.index for each in last] == [0, 1, 2, 3]
    assert [each.error for each in last] == ["", "its worker processes died, each time it was tried", "", ""]


def _allow_no_failure(dask_scheduler: Any) -> None:
    dask_scheduler.allowed_failures = 0


def test_the_tool_gives_the_same_table_on_a_cluster(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the workers have a current folder of their own
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    for level in range(3):
        PIL.Image.new("L", (90, 90), level).save(tmp_path / "photos" / f"{level}.png")
    (tmp_path / "photos" / "broken.jpg").write_text("no picture")
    where = ["--engine", "dask", "--scheduler", cluster.address]
    for table, options in (("here.csv", []), ("there.csv", where)):
        result = CliRunner().invoke(app, ["score", "photos", "-o", table, "--quiet", *options])
        assert result.exit_code == 1
        assert "1 input failed" in result.stderr
    table = (tmp_path / "there.csv").read_text()
    assert table == (tmp_path / "here.csv").read_text()
    assert table.count("no_face") == 3
    assert "unreadable: not an image" in table


def test_the_parts_of_a_long_video_are_judged_on_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    images = [picture(index, (160, 120)) for index in range(120)]
    path = encode(tmp_path / "long.mp4", images, rate=30, g=15, sc_threshold=0)
    task = ScoreTask(FaceRejector.pretrained(), part_frames=30)
    tables = {}
    for name, engine in (("here", SerialEngine()), ("there", DaskEngine(cluster.address))):
        with Store(tmp_path / f"{name}.csv") as store:
            score_inputs([Input(str(path), "video")], task, engine, store=store)
        tables[name] = (tmp_path / f"{name}.csv").read_bytes()
    assert tables["there"] == tables["here"]
    assert tables["here"].count(b"no_face") == 120


def test_a_cluster_without_workers_and_a_scheduler_that_dies(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    try:
        with pytest.raises(
            EngineError, match=f"no worker for 0.1 s; start one with: dask worker {cluster.address}"
        ):
            next(DaskEngine(cluster.address, patience=0.1).run(slow_square, [1]))
        threading.Thread(target=kill_once_in_use, args=(cluster,), daemon=True).start()
        with pytest.raises(EngineError, match=f"the Dask scheduler at {cluster.address} .*gone"):
            next(DaskEngine(cluster.address).run(slow_square, [1]))
    finally:
        cluster.stop()


def kill_once_in_use(cluster: Cluster) -> None:
    end = time.monotonic() + PATIENCE
    while cluster.log().count("Receive client connection") < 2 and time.monotonic() < end:
        time.sleep(0.05)
    cluster.processes[0].kill()


def test_a_scheduler_that_dies_while_it_is_asked() -> None:
    def dead() -> None:
        raise OSError("Timed out trying to connect")

    client = SimpleNamespace(status="running", nthreads=dead)
    job = _ClusterRun(DaskEngine("tcp://127.0.0.1:1"), distributed, client)
    with pytest.raises(EngineError, match=r"the Dask scheduler at tcp://127\.0\.0\.1:1 is gone"):
        job.wait_for(Unfinished())


class Unfinished:
    """A future that never comes."""

    def done(self) -> bool:
        return False

    def exception(self, timeout: float) -> None:
        raise TimeoutError


def test_no_scheduler_is_said_soon() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(EngineError, match=f"no Dask scheduler answers at {address}.*dask scheduler"):
            next(DaskEngine(address, timeout=0.5).run(slow_square, [1]))


def test_the_extra_is_named_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineError, match=r"pip install dask distributed"):
        DaskEngine("tcp://127.0.0.1:1").run(slow_square, [1])


def test_parameters_are_checked() -> None:
    with pytest.raises(ValueError, match="address must name a scheduler"):
        DaskEngine("")
    with pytest.raises(ValueError, match="max_pending must be a whole number"):
        DaskEngine("tcp://127.0.0.1:1", max_pending=0)
    with pytest.raises(ValueError, match="timeout must be a positive number of seconds"):
        DaskEngine("tcp://127.0.0.1:1", timeout=0)
    with pytest.raises(EngineError, match="the task cannot be sent"):
        DaskEngine("tcp://127.0.0.1:1").run(lambda item: [item], [1])


@pytest.mark.parametrize("status", ["running", "closed"])
def test_a_result_that_cannot_be_fetched_is_no_error_of_the_item(status):
    """As when the scheduler dies between the end of an item and the fetching of its result."""

    def lost(*_: Any) -> Any:
        raise OSError("connection closed")

    done = SimpleNamespace(
        status="finished", done=lambda: True, cancelled=lambda: False, exception=lambda timeout=None: None
    )
    client = SimpleNamespace(status=status, gather=lost, nthreads=lost, submit=lambda *_, **__: done)
    job = _ClusterRun(DaskEngine("tcp://127.0.0.1:1"), distributed, client)
    entry = _Submission(0, 7)
    job.submit(entry)
    with pytest.raises(EngineError, match=r"scheduler at .* is gone"):
        job.collect(deque([entry]))


OTHER = {
    "none": ("sys.modules['facereject'] = None", "has no facereject"),
    "version": ("import facereject; facereject.__version__ = '0.0.9'", "has facereject 0.0.9 and not "),
    "code": (
        "import facereject.parallel.cluster as h; h._digest_of = lambda folder: 'x'",
        "has other code",
    ),
    "package": (
        "import facereject.parallel.cluster as h; h._PACKAGES['pillow-heif'] = ('no such thing',)",
        "lacks pillow-heif",
    ),
    "old": ("import facereject; sys.modules['facereject.parallel.cluster'] = None", "has other code"),
}


@pytest.mark.parametrize("kind", OTHER)
def test_a_worker_that_would_answer_otherwise(cluster: Cluster, tmp_path: Path, kind: str) -> None:
    code, message = OTHER[kind]
    (tmp_path / "other.py").write_text(f"import sys\n{code}\n")
    worker = cluster.start(
        "worker", "--no-nanny", "--nthreads", "1", "--nworkers", "1",
        "--preload", str(tmp_path / "other.py"), "--name", "other", cluster.address,
    )  # fmt: skip
    try:
        with distributed.Client(cluster.address, set_as_default=False) as client:
            end = time.monotonic() + PATIENCE
            while "other" not in (names := _names(client)):
                assert time.monotonic() < end, cluster.log()
                time.sleep(0.05)
        with pytest.raises(EngineError, match=message) as raised:
            list(DaskEngine(cluster.address).run(slow_square, range(500)))
        assert names["other"] in str(raised.value)
    finally:
        worker.kill()
        worker.wait()


def test_answers_of_workers_are_compared_with_those_of_this_process() -> None:
    packed = pack_task(ScoreTask(FaceRejector.pretrained()))
    here = introduce_with(packed)
    assert len(here["task"]) == 64
    # a worker that died while it was asked is no reason to stop
    check_answers({"a": dict(here), "b": OSError("gone")}, here)
    with pytest.raises(EngineError, match=r"worker b has Pillow 1\.0 and not "):
        check_answers({"a": dict(here), "b": here | {"Pillow": "1.0"}}, here)
    with pytest.raises(EngineError, match="worker b has another landmark predictor or model"):
        check_answers({"a": dict(here), "b": here | {"task": "0" * 64}}, here)
    other = introduce_with(pack_task(ScoreTask(FaceRejector.pretrained().with_target(cost=9.0))))
    assert other["task"] != here["task"]


def _names(client: Any) -> dict[str, str]:
    return {info["name"]: address for address, info in client.scheduler_info()["workers"].items()}
