"""Following faces against detecting on every frame: python tools/bench/tracking.py [CLIP ...]

For every clip: frames with the same decision (all faces accepted), faces of the detector that the tracker
has, too (boxes that overlap by 0.3), faces that it has alone, the longest time for which a face of at least
80 pixels went unseen while the detector saw it in every frame, and how many times as fast it is. Both take
turns frame by frame, in processor time without decoding, so that the ratio means something on a busy machine;
"at most" is what the ratio would be if the tracker did nothing but predict and assess landmarks.
Beside it what detecting on every fifth frame gives, if the last faces are kept in between.
--mirror shows the clips from the other side: new videos for whoever tuned the tracker on the clips.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from media import DATA, report

from facereject.faces import Detection, Face, FaceRejector
from facereject.faces.face import Box
from facereject.faces.geometry import overlap
from facereject.faces.views import Views
from facereject.sources import open_video
from facereject.tracking.tracker import DETECT_EVERY, FaceTracker, Tracking
from facereject.tracking.tracks import SAME

# pixels; a smaller face may wait
LARGE = 80

# the simple alternative detects on every so many frames
KEPT = 5


class Result(NamedTuple):
    """Counts of one clip; times in seconds."""

    frames: int
    equal: int
    faces: int
    found: int
    alone: int
    unseen_s: float
    every_s: float
    needed_s: float
    assessing_s: float
    large_frame: bool
    kept_equal: int
    kept_unseen_s: float
    kept_s: float


class Unseen:
    """How long faces go unseen, by the boxes of the detector that no box of the tracker overlaps."""

    def __init__(self) -> None:
        self.longest = 0
        self._running: list[tuple[Box, int]] = []

    def add(self, there: list[Box], seen: list[Box]) -> None:
        running = []
        for box in there:
            if box.width < LARGE or _among(box, seen):
                continue
            before = max((n for other, n in self._running if overlap(other, box) >= SAME), default=0)
            running.append((box, before + 1))
        self._running = running
        self.longest = max([self.longest, *(n for _, n in running)])


def _among(box: Box, others: list[Box]) -> bool:
    return any(overlap(box, other) >= SAME for other in others)


def _accepted(faces: list[Face]) -> bool:
    return bool(faces) and all(face.accepted for face in faces)


class TimedRejector:
    """A rejector for a tracker that notes how long it predicts and assesses landmarks."""

    def __init__(self, rejector: FaceRejector) -> None:
        self._rejector = rejector
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rejector, name)

    def assess_detection(self, view: Views, found: Detection) -> Face:
        start = time.process_time()
        face = self._rejector.assess_detection(view, found)
        self.seconds += time.process_time() - start
        return face


def follow(clip: Path, rejector: FaceRejector, every: int, mirror: bool) -> Result:
    timed: Any = TimedRejector(rejector)
    tracker, unseen, kept_unseen = FaceTracker(timed, Tracking(detect_every=every)), Unseen(), Unseen()
    kept: list[Face] = []
    kept_equal, kept_s = 0, 0.0
    frames = equal = n_faces = found = alone = 0
    seconds = [0.0, 0.0]
    rate, large = 30.0, False
    with open_video(clip) as video:
        rate = float(video.rate or 30)
        for frame in video:
            image = np.ascontiguousarray(frame.image[:, ::-1]) if mirror else frame.image
            large = image.shape[:2] == (480, 640)
            marks = [time.process_time()]
            by_detector = rejector(image)
            marks.append(time.process_time())
            by_tracker = [each.face for each in tracker.update(image, frame.time_s)]
            marks.append(time.process_time())
            seconds = [total + took for total, took in zip(seconds, np.diff(marks).tolist(), strict=True)]
            there, seen = [face.box for face in by_detector], [face.box for face in by_tracker]
            if frames % KEPT == 0:
                kept = by_detector
                kept_s += marks[1] - marks[0]
            kept_equal += _accepted(kept) == _accepted(by_detector)
            kept_unseen.add(there, [face.box for face in kept])
            unseen.add(there, seen)
            frames += 1
            equal += _accepted(by_detector) == _accepted(by_tracker)
            n_faces += len(there)
            found += sum(_among(box, seen) for box in there)
            alone += sum(not _among(box, there) for box in seen)
    counts = (frames, equal, n_faces, found, alone, unseen.longest / rate, *seconds, timed.seconds, large)
    return Result(*counts, kept_equal, kept_unseen.longest / rate, kept_s)


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("clips", nargs="*", help="videos (default: all of the data)")
    parser.add_argument("--model", default="default", help="a model that comes along (default: default)")
    parser.add_argument("--every", type=int, default=DETECT_EVERY, help="frames between whole searches")
    parser.add_argument("--mirror", action="store_true", help="mirror the frames")
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
    for clip in clips:
        each = follow(clip, rejector, options.every, options.mirror)
        results.append(each)
        print(
            f"  {clip.stem[:16]:16s} {each.frames:5d} frames, {each.equal / each.frames:7.2%} equal, "
            f"{each.found:5d} of {each.faces:5d} faces and {each.alone:3d} others, unseen for at most "
            f"{each.unseen_s:.2f} s, {each.every_s / each.needed_s:.2f} times as fast "
            f"(at most {each.every_s / each.assessing_s:.1f})",
            flush=True,
        )
        print(
            f"  {'':16s} every {KEPT}th frame, last faces kept: {each.kept_equal / each.frames:7.2%} equal, "
            f"unseen for at most {each.kept_unseen_s:.2f} s, {each.every_s / each.kept_s:.2f} times as fast",
            flush=True,
        )
    frames = sum(each.frames for each in results)
    report(
        "frames with the same decision", 100 * sum(each.equal for each in results) / frames, 98, at_least=True
    )
    kept = 100 * sum(each.kept_equal for each in results) / frames
    print(f"  every {KEPT}th frame, last faces kept: {kept:.1f} % of frames with the same decision")
    report("longest time unseen, in seconds", max(each.unseen_s for each in results), 0.5)
    of_that_size = [each for each in results if each.large_frame]
    if of_that_size:
        every = sum(each.every_s for each in of_that_size)
        ratio = every / sum(each.needed_s for each in of_that_size)
        report("times as fast at 640 x 480", ratio, 3.5, at_least=True)
        most = every / sum(each.assessing_s for each in of_that_size)
        print(f"  if nothing but landmarks and assessing took time: {most:.1f} times as fast")


if __name__ == "__main__":
    main()
