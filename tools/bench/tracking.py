"""The tracker beside scoring every frame on its own: python tools/bench/tracking.py [CLIP ...]

For every clip, as it is and enlarged to 1920 x 1080: processor time of a frame (one thread, decoding not
included; the least of several passes, as other programs slow down what reads much memory), as a share of what
dlib's own search of a frame of that size takes in the same run (median, mean, 99th percentile); frames whose
decision (all faces accepted) is that of the frame as a photo (``rejector(image)``); faces of the photo that
the tracker has, too (boxes that overlap by 0.3), and faces that it has alone; boxes equal to the bit; pairs
of faces of one frame of which one is half inside the other; how many track numbers were given. Beside it the
simple alternatives: every frame as a photo, and every fifth with the last faces kept.

Then a face of 60 pixels is put into frames of both sizes, and the time until it is tracked is measured.
--mirror shows the clips from the other side; --pan moves the camera; --shrink makes people smaller.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from media import DATA, report

from facereject.faces import Face, FaceDetector, FaceRejector
from facereject.faces.face import Box
from facereject.faces.geometry import overlap, share_inside
from facereject.faces.images import ImageArray
from facereject.sources import open_video
from facereject.tracking.tracker import DETECT_EVERY, FaceTracker, Tracking
from facereject.tracking.tracks import SAME

# the simple alternative detects on every KEPT-th frame; dlib's search is timed on every SAMPLED-th
KEPT, SAMPLED = 5, 10

HD, VGA = (1920, 1080), (640, 480)

# people in view; the others show one person
PEOPLE = {"several_faces": 3, "head-pose-face-detection-female-and-male": 2}


class Result(NamedTuple):
    """Counts of one clip; times in milliseconds."""

    name: str
    size: tuple[int, int]
    people: int
    equal: list[bool]
    kept_equal: list[bool]
    faces: int
    found: int
    same_box: int
    alone: int
    twice: int
    tracks: int
    tracker_ms: list[float]
    photo_ms: list[float]
    dlib_ms: list[float]

    def share(self, times: list[float], quantile: float | None = None) -> float:
        """The mean or a quantile of times, as a share of dlib's search."""
        value = np.mean(times) if quantile is None else np.quantile(times, quantile)
        return float(value / np.mean(self.dlib_ms))

    def show(self) -> None:
        """Print two lines."""
        print(
            f"  {self.name[:14]:14s} {self.size[0]:4d} x {self.size[1]:4d} {len(self.equal):4d} frames: "
            f"median {self.share(self.tracker_ms, 0.5):.3f}, mean {self.share(self.tracker_ms):.3f}, p99 "
            f"{self.share(self.tracker_ms, 0.99):.3f} of dlib's {np.mean(self.dlib_ms):.1f} ms; "
            f"{np.mean(self.equal):7.2%} equal, {self.found} of {self.faces} faces ({self.same_box} in the "
            f"same box) and {self.alone} others, {self.twice} twice, {self.tracks} tracks"
        )
        print(
            f"  {'':26s} as photos: mean {self.share(self.photo_ms):.3f}, p99 "
            f"{self.share(self.photo_ms, 0.99):.3f}; every {KEPT}th frame: "
            f"{np.mean(self.kept_equal):7.2%} equal",
            flush=True,
        )


def among(box: Box, others: list[Box]) -> bool:
    """Whether a box is one of others."""
    return any(overlap(box, other) >= SAME for other in others)


def accepted(faces: list[Face]) -> bool:
    """The decision about a frame."""
    return bool(faces) and all(face.accepted for face in faces)


def milliseconds(start: float) -> float:
    """Processor time since a start."""
    return 1e3 * (time.process_time() - start)


def frames_of(clip: Path, options: argparse.Namespace, size: tuple[int, int] | None) -> Iterator[ImageArray]:
    """The frames of a clip, changed as the options ask for.

    Parameters
    ----------
    clip : Path
    options : Namespace
    size : (width, height) or None
        Enlarged, and continued at its edges where the shape is another; None is as it is.
    """
    with open_video(clip) as video:
        for number, frame in enumerate(video):
            image = frame.image[:, ::-1] if options.mirror else frame.image
            width, height = size or (image.shape[1], image.shape[0])
            zoom = min(width / image.shape[1], height / image.shape[0]) * options.shrink
            inner = cv2.resize(
                np.ascontiguousarray(image), None, fx=zoom, fy=zoom, interpolation=cv2.INTER_CUBIC
            )
            room = np.array([width - inner.shape[1], height - inner.shape[0]])
            # as a camera that swings to either side within three seconds
            swing = 0.5 + 0.5 * np.sin(2 * np.pi * number / 90 * np.array([1, 0.7])) * options.pan
            x, y = np.rint(room * swing).astype(int)
            edges = (y, room[1] - y, x, room[0] - x)
            yield np.asarray(cv2.copyMakeBorder(inner, *map(int, edges), cv2.BORDER_REPLICATE), np.uint8)


def follow(
    clip: Path, rejector: FaceRejector, options: argparse.Namespace, size: tuple[int, int] | None
) -> Result:
    """Compare the tracker with every frame as a photo."""
    tracker, dlib = FaceTracker(rejector, Tracking(detect_every=options.every)), FaceDetector()
    equal, kept_equal, times = [], [], ([], [], [])
    n_faces = found = same_box = alone = twice = 0
    numbers: set[int] = set()
    kept: list[Face] = []
    shape = (0, 0)
    for number, image in enumerate(frames_of(clip, options, size)):
        shape = (image.shape[1], image.shape[0])
        start = time.process_time()
        tracked = tracker.update(image)
        times[0].append(milliseconds(start))
        start = time.process_time()
        photo = rejector(image)
        times[1].append(milliseconds(start))
        if number % SAMPLED == 0:
            start = time.process_time()
            dlib.detect(image)
            times[2].append(milliseconds(start))
        if number % KEPT == 0:
            kept = photo
        faces = [each.face for each in tracked]
        there, seen = [face.box for face in photo], [face.box for face in faces]
        numbers.update(each.track for each in tracked)
        equal.append(accepted(photo) == accepted(faces))
        kept_equal.append(accepted(photo) == accepted(kept))
        n_faces += len(there)
        found += sum(among(box, seen) for box in there)
        same_box += sum(box in seen for box in there)
        alone += sum(not among(box, there) for box in seen)
        twice += sum(share_inside(box, other) > 0.5 for i, box in enumerate(seen) for other in seen[:i])
    for _ in range(1, options.repeats):
        tracker = FaceTracker(rejector, Tracking(detect_every=options.every))
        for number, image in enumerate(frames_of(clip, options, size)):
            start = time.process_time()
            tracker.update(image)
            times[0][number] = min(times[0][number], milliseconds(start))
            if number % SAMPLED == 0:
                start = time.process_time()
                dlib.detect(image)
                times[2][number // SAMPLED] = min(times[2][number // SAMPLED], milliseconds(start))
    counts = (n_faces, found, same_box, alone, twice, len(numbers))
    return Result(clip.stem, shape, PEOPLE.get(clip.stem, 1), equal, kept_equal, *counts, *times)


def waiting_s(rejector: FaceRejector, size: tuple[int, int], clip: Path, every: int) -> float:
    """The longest time, at 30 frames per second, until a face of 60 pixels beside another one is tracked.

    Parameters
    ----------
    rejector : FaceRejector
    size : (width, height)
    clip : Path
        Shows one person; the new face is the first face of its first frame, reduced.
    every : int
    """
    with open_video(clip) as video:
        images = [frame.image for frame, _ in zip(video, range(40), strict=False)]
    box = rejector(images[0])[0].box
    part = images[0][max(0, int(box.y - 0.4 * box.height)) :, max(0, int(box.x - 0.4 * box.width)) :]
    part = part[: int(1.8 * box.height), : int(1.8 * box.width)]
    small = cv2.resize(part, None, fx=60 / box.width, fy=60 / box.width, interpolation=cv2.INTER_AREA)
    waits, rng = [], np.random.default_rng(0)
    for first in range(10, 10 + every):
        # where it covers nobody: the left quarter of the frame, beside the clip
        x = int(rng.integers(0, size[0] // 4 - small.shape[1]))
        y = int(rng.integers(0, size[1] - small.shape[0]))
        tracker = FaceTracker(rejector, Tracking(detect_every=every))
        for number, image in enumerate(images):
            canvas = np.full((size[1], size[0], 3), 110, np.uint8)
            inner = cv2.resize(
                image, None, fx=0.7 * size[0] / image.shape[1], fy=0.7 * size[0] / image.shape[1]
            )
            inner = inner[: size[1]]
            canvas[: len(inner), size[0] - inner.shape[1] :] = inner
            if number >= first:
                canvas[y : y + small.shape[0], x : x + small.shape[1]] = small
            boxes = [each.face.box for each in tracker.update(canvas)]
            if any(box.center[0] < size[0] // 4 for box in boxes):
                waits.append((number - first) / 30)
                break
        else:
            waits.append(np.inf)
    return max(waits)


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("clips", nargs="*", help="videos (default: all of the data)")
    parser.add_argument("--model", default="default", help="a pretrained model (default: default)")
    parser.add_argument(
        "--every", type=int, default=DETECT_EVERY, help="frames until all of a frame is searched"
    )
    parser.add_argument("--repeats", type=int, default=3, help="passes, of which the least time counts")
    parser.add_argument("--sizes", nargs="+", default=["own", "1080p"], choices=["own", "1080p"])
    parser.add_argument("--mirror", action="store_true", help="mirror the frames")
    parser.add_argument(
        "--pan", type=float, default=0.0, help="how far the camera swings, 0 to 1 of the room"
    )
    parser.add_argument("--shrink", type=float, default=1.0, help="size of the clip in the frame")
    options = parser.parse_args()
    folder = DATA / "video"
    clips = [Path(clip) for clip in options.clips]
    clips = clips or sorted(file for file in folder.glob("*") if file.suffix in (".mkv", ".avi", ".gif"))
    if not clips:
        sys.exit(f"{folder} holds no videos: set FACEREJECT_DATA to the folder that holds faces/")
    cv2.setNumThreads(1)
    rejector = FaceRejector.pretrained(options.model)
    # models are built when first used
    rejector.assess_box(np.zeros((200, 200, 3), dtype=np.uint8), (50, 50, 100, 100))
    results = []
    for name in options.sizes:
        for clip in clips:
            results.append(follow(clip, rejector, options, HD if name == "1080p" else None))
            results[-1].show()
    large = [each for each in results if each.size == HD]
    if large:
        report("1920 x 1080: p99, worst clip", max(each.share(each.tracker_ms, 0.99) for each in large), 0.30)
        one = [each.share(each.tracker_ms, 0.5) for each in large if each.people == 1]
        if one:
            report("1920 x 1080: median with one person, worst clip", max(one), 0.12)
    for each in results:
        if each.size == VGA and each.people == 3:
            report("640 x 480: mean with three people", each.share(each.tracker_ms), 0.60)
    equal = [value for each in results for value in each.equal]
    report("frames decided as photos, percent", 100 * float(np.mean(equal)), 99, at_least=True)
    kept = [value for each in results for value in each.kept_equal]
    print(f"  every {KEPT}th frame, last faces kept: {np.mean(kept):.1%} of frames with the same decision")
    report("faces twice in a frame", sum(each.twice for each in results), 0)
    for size in (VGA, HD):
        waits = waiting_s(rejector, size, clips[0], options.every)
        report(f"a new face of 60 pixels waits, {size[0]} x {size[1]}, seconds", waits, 0.2)


if __name__ == "__main__":
    main()
