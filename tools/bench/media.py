"""The bars of the tool on real faces: python tools/bench/media.py {photos,memory,uncertainty,video,…,all}

Every line gives what was measured, the bar, and whether it was met. Alternatives take turns, several times,
and medians are compared; wall-clock figures mean something only on a machine with nothing else to do.

photos       2,000 photographs: a bare loop of dlib (load, detect, landmarks), `score_inputs` in a process of
             its own, and the command `facereject score` with one and with two workers. Start-up is that of
             the same command on the first two photographs.
memory       peak of the resident memory of the command and its workers together, 50,000 images against
             1,000. The images are links to small cuts from the photographs, so that it takes minutes; they
             take the same way as any other.
uncertainty  features + score beside detection + landmarks; see faces.py.
video        the clips with the detector when needed and on every frame: rate, and share of equal decisions.
reading      the clips decoded to RGB by `open_video` and by OpenCV.
long         one long video, made of the clips one after the other: `facereject score` with one and with two
             workers, which judge parts of it side by side. The quickest of all rounds are compared.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from facereject.pipeline.task import Chunk

DATA = Path(os.environ.get("FACEREJECT_DATA") or Path(__file__).parents[3] / "shared" / "data") / "faces"


class Run(NamedTuple):
    """One process that has ended: wall-clock and processor seconds, what it printed, peak memory in bytes."""

    seconds: float
    processor: float
    output: str
    peak: int


def run(command: Sequence[str | Path], *, watch_memory: bool = False) -> Run:
    """Run a command to its end; its processes count as one."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENCV_FOR_THREADS_NUM": "1"}
    _adopt()
    before, start, peak = os.times(), time.perf_counter(), 0
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        if watch_memory:
            peak = _watch(process)
        output, _ = process.communicate()
    seconds = time.perf_counter() - start
    if process.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {process.returncode}")
    with suppress(ChildProcessError):
        while True:
            os.wait()
    after = os.times()
    processor = after.children_user - before.children_user + after.children_system - before.children_system
    return Run(seconds, processor, output, peak)


def _adopt() -> None:
    """Processes that outlive their parents become children of this one: the server of workers ends last."""
    if sys.platform == "linux":
        # PR_SET_CHILD_SUBREAPER
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def _watch(process: subprocess.Popen[str]) -> int:
    import psutil

    peak, parent = 0, psutil.Process(process.pid)
    while process.poll() is None:
        total = 0
        for each in [parent, *parent.children(recursive=True)]:
            try:
                total += each.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        peak = max(peak, total)
        time.sleep(0.05)
    return peak


def score_command(folder: Path, table: Path, workers: int) -> list[str | Path]:
    tool = Path(sys.executable).with_name("facereject")
    return [tool, "score", folder, "-o", table, "--workers", str(workers), "--overwrite", "--quiet"]


def report(name: str, value: float, bar: float, *, at_least: bool = False, unit: str = "") -> None:
    met = value >= bar if at_least else value <= bar
    sides = f"bar {'≥' if at_least else '≤'} {bar:g}{unit}"
    print(f"  {name:50s} {value:8.3f}{unit}  ({sides}: {'met' if met else 'MISSED'})")


def link(files: Sequence[Path], folder: Path, count: int) -> Path:
    """A folder of links to the files, over and over, as many as asked for."""
    folder.mkdir()
    for i, file in zip(range(count), itertools.cycle(files), strict=False):
        (folder / f"{i:06d}{file.suffix}").symlink_to(file.resolve())
    return folder


def photographs() -> list[Path]:
    return sorted((DATA / "300w").rglob("*.jpg"))


def photos(options: argparse.Namespace, scratch: Path) -> None:
    from facereject.faces.landmarks.dlib_trees import default_model_path

    folder = link(photographs(), scratch / "photos", options.photos)
    first = link(photographs(), scratch / "first", 2)
    table = scratch / "photos.csv"
    me: list[str | Path] = [sys.executable, Path(__file__)]
    commands: dict[str, list[str | Path]] = {
        "bare loop": [*me, "_bare", folder, default_model_path()],
        "score_inputs, 1 worker": [*me, "_library", folder, table],
        "command, 1 worker": score_command(folder, table, 1),
        "command, 2 workers": score_command(folder, table, 2),
        "command, 1 worker, first two": score_command(first, table, 1),
        "command, 2 workers, first two": score_command(first, table, 2),
    }
    rounds: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(options.repeats):
        for name, command in commands.items():
            rounds[name].append(run(command))
    print(f"photos: {options.photos:,} photographs, medians of {options.repeats} rounds")
    for name, runs in rounds.items():
        line = f"  {name:30s} {statistics.median(each.seconds for each in runs):8.2f} s"
        if runs[0].output:
            line += f", of which the loop {statistics.median(float(each.output) for each in runs):8.2f} s"
        print(line)

    def ratio(over: Callable[[str], list[float]], name: str, other: str) -> float:
        # pairs from one round: what slows the machine down for a while slows both
        return statistics.median(a / b for a, b in zip(over(name), over(other), strict=True))

    def without_start_up(name: str) -> list[float]:
        return [a - b for a, b in zip(whole(name), whole(f"{name}, first two"), strict=True)]

    def of(value: Callable[[Run], float]) -> Callable[[str], list[float]]:
        return lambda name: [value(each) for each in rounds[name]]

    whole, processor = of(lambda each: each.seconds), of(lambda each: each.processor)
    loop = of(lambda each: float(each.output))

    one, two, bare = "command, 1 worker", "command, 2 workers", "bare loop"
    report("score_inputs / bare loop", ratio(loop, "score_inputs, 1 worker", bare), 1.10)
    report("command / bare loop, start-up of both included", ratio(whole, one, bare), 1.10)
    report("the same in processor time", ratio(processor, one, bare), 1.10)
    report("2 workers faster, start-up included", ratio(whole, one, two), 1.8, at_least=True)
    report("2 workers faster, start-up left out", ratio(without_start_up, one, two), 1.8, at_least=True)


def bare_loop(folder: Path, model: Path) -> None:
    """What anybody would write with dlib; prints the seconds of the loop."""
    import dlib

    detector = dlib.get_frontal_face_detector()
    predictor = dlib.shape_predictor(str(model))
    start = time.perf_counter()
    for file in sorted(folder.iterdir()):
        image = dlib.load_rgb_image(str(file))
        for box in detector(image, 0):
            [(point.x, point.y) for point in predictor(image, box).parts()]
    print(time.perf_counter() - start)


def library(folder: Path, table: Path) -> None:
    """The library call; prints its seconds, models being loaded before."""
    from facereject.faces import FaceRejector
    from facereject.parallel.base import SerialEngine
    from facereject.pipeline.run import score_inputs
    from facereject.pipeline.store import Store
    from facereject.pipeline.task import ScoreTask
    from facereject.sources.inputs import expand_inputs

    task = ScoreTask(FaceRejector.pretrained())
    list(task(next(expand_inputs([str(folder)]))))
    start = time.perf_counter()
    with Store(table, overwrite=True) as store:
        score_inputs(expand_inputs([str(folder)]), task, SerialEngine(), store=store)
    print(time.perf_counter() - start)


def memory(options: argparse.Namespace, scratch: Path) -> None:
    cuts = small_faces(scratch / "cuts", 50)
    peaks = {}
    print(f"memory: links to {len(cuts)} cuts of 120 x 120 pixels, {options.workers} worker(s)")
    for count in (options.few, options.many):
        folder = link(cuts, scratch / f"links-{count}", count)
        result = run(score_command(folder, scratch / "memory.csv", options.workers), watch_memory=True)
        peaks[count] = result.peak
        print(f"  {count:6,} images: peak {result.peak / 2**20:7.1f} MiB in {result.seconds:.0f} s")
    report("peak of many / peak of few", peaks[options.many] / peaks[options.few], 1.1)


def small_faces(folder: Path, count: int) -> list[Path]:
    """Small pictures, each filled by a face that the detector finds: their rows are as large as any."""
    import cv2
    import numpy as np

    from facereject.faces import FaceDetector

    folder.mkdir()
    made: list[Path] = []
    for file in photographs():
        image = np.asarray(cv2.imread(str(file)))
        height, width = image.shape[:2]
        # the photographs show two and a half times the face
        cut = image[height // 4 : height - height // 4, width // 4 : width - width // 4]
        small = cv2.resize(cut, (120, 120), interpolation=cv2.INTER_AREA)
        if FaceDetector().detect(cv2.cvtColor(small, cv2.COLOR_BGR2RGB)):
            made.append(folder / f"{len(made)}.png")
            cv2.imwrite(str(made[-1]), small)
        if len(made) == count:
            break
    return made


def uncertainty(options: argparse.Namespace, scratch: Path) -> None:
    from faces import measure

    took = {name: statistics.median(values) for name, values in measure(options.rounds).items()}
    both = took["detector"] + took["predictor"]
    print(f"uncertainty: medians of {options.rounds} rounds, processor time, 640 x 480, one face")
    print(f"  features + score {took['features + score']:.3f} ms, detection + landmarks {both:.2f} ms")
    report("features + score / (detection + landmarks)", 100 * took["features + score"] / both, 4, unit=" %")


def video(options: argparse.Namespace, scratch: Path) -> None:
    from facereject.faces import FaceRejector
    from facereject.pipeline.task import ScoreTask
    from facereject.sources.inputs import Input
    from facereject.tracking import Tracking

    rejector = FaceRejector.pretrained()
    modes = {"needed": ScoreTask(rejector), "every": ScoreTask(rejector, Tracking(every_frame=True))}
    clips = sorted((DATA / "video").glob("*.mkv"))
    # models are built when first used
    list(modes["every"](Input(str(photographs()[0]), "image")))
    keys = [(clip, mode) for clip in clips for mode in modes]
    wall: dict[tuple[Path, str], list[float]] = {key: [] for key in keys}
    processor: dict[tuple[Path, str], list[float]] = {key: [] for key in keys}
    decisions: dict[tuple[Path, str], list[bool]] = {}
    for _ in range(options.repeats):
        for clip, mode in keys:
            start, used = time.perf_counter(), time.process_time()
            decisions[clip, mode] = list(_decisions(modes[mode](Input(str(clip), "video"))))
            wall[clip, mode].append(time.perf_counter() - start)
            processor[clip, mode].append(time.process_time() - used)
    print(f"video: decoding, faces and rows together, medians of {options.repeats} rounds")
    took = {key: statistics.median(values) for key, values in wall.items()}
    used_by = {key: statistics.median(values) for key, values in processor.items()}
    equal = frames = 0
    for clip in clips:
        pairs = list(zip(decisions[clip, "needed"], decisions[clip, "every"], strict=True))
        same = sum(a == b for a, b in pairs)
        rates = {mode: len(pairs) / took[clip, mode] for mode in modes}
        print(
            f"  {clip.name:12s} {len(pairs):5d} frames, {rates['needed']:6.1f} against {rates['every']:5.1f} "
            f"per second ({rates['needed'] / rates['every']:.2f} times), {same / len(pairs):7.2%} equal"
        )
        equal, frames = equal + same, frames + len(pairs)

    def speed_up(seconds: dict[tuple[Path, str], float]) -> float:
        return sum(seconds[clip, "every"] for clip in clips) / sum(seconds[clip, "needed"] for clip in clips)

    report("frame rate / that of detecting on every frame", speed_up(took), 4, at_least=True)
    print(f"  the same in processor time, decoding by several threads included: {speed_up(used_by):.2f}")
    report("frames with the same decision", 100 * equal / frames, 97, at_least=True, unit=" %")


def reading(options: argparse.Namespace, scratch: Path) -> None:
    clips = sorted(file for file in (DATA / "video").iterdir() if file.suffix in (".mkv", ".avi"))
    readers = {"open_video": _read_by_us, "OpenCV": _read_by_opencv}
    wall: dict[str, list[float]] = {name: [] for name in readers}
    processor: dict[str, list[float]] = {name: [] for name in readers}
    frames: dict[str, int] = {}
    for _ in range(options.repeats * 3):
        for name, read in readers.items():
            start, used = time.perf_counter(), time.process_time()
            frames[name] = sum(read(clip) for clip in clips)
            wall[name].append(time.perf_counter() - start)
            processor[name].append(time.process_time() - used)
    print(f"reading: {len(clips)} clips, quickest of {options.repeats * 3} rounds")
    for name in readers:
        print(f"  {name:12s} {frames[name]:6,} frames, {frames[name] / min(wall[name]):7.1f} per second")
    report("seconds / those of OpenCV", min(wall["open_video"]) / min(wall["OpenCV"]), 1.1)
    print(f"  the same in processor time: {min(processor['open_video']) / min(processor['OpenCV']):.2f}")


def _read_by_us(clip: Path) -> int:
    from facereject.sources import open_video

    with open_video(clip) as video:
        return sum(1 for _ in video)


def _read_by_opencv(clip: Path) -> int:
    import cv2

    video, count = cv2.VideoCapture(str(clip), cv2.CAP_FFMPEG), 0
    while True:
        done, image = video.read()
        if not done:
            return count
        cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        count += 1


def long(options: argparse.Namespace, scratch: Path) -> None:
    from facereject.sources.video_parts import find_parts

    file = scratch / "long.mp4"
    frames = join_clips(file, options.long_frames)
    short = scratch / "short.mp4"
    join_clips(short, 10)
    wall: dict[int, list[float]] = {1: [], 2: []}
    start_up: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(options.repeats):
        for workers in wall:
            wall[workers].append(run(score_command(file, scratch / "long.csv", workers)).seconds)
            start_up[workers].append(run(score_command(short, scratch / "short.csv", workers)).seconds)
    parts = len(find_parts(str(file)))
    print(f"long: {frames:,} frames in {parts} parts, quickest of {options.repeats} rounds")
    for workers, seconds in wall.items():
        print(f"  {workers} worker(s): {min(seconds):7.2f} s, start-up {min(start_up[workers]):.2f} s")
    ratio = min(wall[1]) / min(wall[2])
    report("2 workers faster, start-up included", ratio, 1.6, at_least=True)


def join_clips(file: Path, n_frames: int) -> int:
    """The clips one after the other, over and over, up to so many frames."""
    from facereject.outputs import VideoWriter
    from facereject.sources import open_video

    clips = sorted((DATA / "video").glob("*.mkv"))
    with VideoWriter(file, 30, (640, 480)) as writer:
        for clip in itertools.cycle(clips):
            with open_video(clip) as video:
                for frame in video:
                    writer.write(frame.image)
                    if writer.frames == n_frames:
                        return n_frames
    raise AssertionError("there are clips")


def _decisions(chunks: Iterable[Chunk]) -> Iterator[bool]:
    for chunk in chunks:
        yield from (frame.accepted() for frame in chunk.frames)


BENCHES = {
    "photos": photos,
    "memory": memory,
    "uncertainty": uncertainty,
    "video": video,
    "reading": reading,
    "long": long,
}


def main() -> None:
    # the two processes that `photos` starts from this very file
    if sys.argv[1:2] == ["_bare"]:
        return bare_loop(Path(sys.argv[2]), Path(sys.argv[3]))
    if sys.argv[1:2] == ["_library"]:
        return library(Path(sys.argv[2]), Path(sys.argv[3]))
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("bench", choices=[*BENCHES, "all"])
    parser.add_argument("--repeats", type=int, default=3, help="rounds of photos and video (default: 3)")
    parser.add_argument("--rounds", type=int, default=100, help="rounds of uncertainty (default: 100)")
    parser.add_argument("--photos", type=int, default=2000, help="photographs (default: 2000)")
    parser.add_argument("--few", type=int, default=1000, help="images for memory (default: 1000)")
    parser.add_argument("--many", type=int, default=50_000, help="and against them (default: 50000)")
    parser.add_argument("--long-frames", type=int, default=7200, help="frames of long (default: 7200)")
    parser.add_argument("--workers", type=int, default=2, help="worker processes for memory (default: 2)")
    options = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"{DATA} is missing: set FACEREJECT_DATA to the folder that holds faces/")
    for name, bench in BENCHES.items():
        if options.bench in (name, "all"):
            with tempfile.TemporaryDirectory() as scratch:
                bench(options, Path(scratch))


if __name__ == "__main__":
    main()
