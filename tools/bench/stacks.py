"""What the stacks cost per VGA photograph and per frame of a video: dlib against YuNet and the mesh.

    facereject models get mesh
    python tools/bench/stacks.py ../shared/data/faces [--photos 40] [--frames 150] [--models default mesh]

Times are processor time of one thread, the median over photographs or the mean over frames, and the ratio to
the first model; other work on the machine disturbs them less than the clock. Photographs of 300-W are placed
in frames of 640 × 480 pixels; clips are tracked as `facereject score` does.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from pathlib import Path

import cv2
import numpy as np

from facereject.faces import FaceDataset, FaceRejector
from facereject.faces.detectors.base import find_faces
from facereject.faces.images import Views
from facereject.faces.landmarks.base import predict_landmarks
from facereject.sources import open_video
from facereject.tracking import FaceTracker


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with 300w/ and video/")
    parser.add_argument("--photos", type=int, default=40)
    parser.add_argument("--frames", type=int, default=150, help="of each clip")
    parser.add_argument("--models", nargs="+", default=["dlib", "default", "thorough", "mesh", "mesh-free"])
    options = parser.parse_args()
    cv2.setNumThreads(1)
    models = {name: FaceRejector.pretrained(name) for name in options.models}
    frames = vga_photographs(options.data / "300w", options.photos)
    print(f"{len(frames)} photographs of 640 × 480, milliseconds of processor time per photograph (median)")
    print("| model | whole | detector | landmarks | ratio | faces |\n|---|---|---|---|---|---|")
    first = None
    for name, rejector in models.items():
        whole, detector, landmarks, faces = photographs(rejector, frames)
        first = first or whole
        print(f"| {name} | {whole:.1f} | {detector:.1f} | {landmarks:.1f} | {whole / first:.2f} | {faces} |")
    clips = sorted((options.data / "video").glob("*.mkv"))[:3]
    shown = {clip: [f.image for f in islice(open_video(clip), options.frames)] for clip in clips}
    print(f"\n{len(clips)} clips, milliseconds per frame (mean), and faces per frame")
    print("| model | per frame | ratio | faces |\n|---|---|---|---|")
    first = None
    for name, rejector in models.items():
        cost, faces = videos(rejector, list(shown.values()))
        first = first or cost
        print(f"| {name} | {cost:.1f} | {cost / first:.2f} | {faces:.2f} |")


def vga_photographs(folder, number):
    """Photographs in the middle of frames of 640 × 480 pixels, on a blurred copy of themselves."""
    samples = FaceDataset.load(folder)
    frames = []
    for i in np.linspace(0, len(samples) - 1, number).astype(int):
        image = samples[int(i)].load()
        zoom = min(480 / image.shape[0], 640 / image.shape[1], 1.0)
        small = cv2.resize(image, None, fx=zoom, fy=zoom, interpolation=cv2.INTER_AREA)
        frame = cv2.GaussianBlur(cv2.resize(image, (640, 480)), (0, 0), 25)
        y, x = (480 - small.shape[0]) // 2, (640 - small.shape[1]) // 2
        frame[y : y + small.shape[0], x : x + small.shape[1]] = small
        frames.append(frame)
    return frames


def photographs(rejector, frames):
    rejector(frames[0])
    whole, detector, landmarks, faces = [], [], [], 0
    for frame in frames:
        start = time.process_time()
        faces += len(rejector(frame))
        whole.append(time.process_time() - start)
        view = Views(frame)
        start = time.process_time()
        found = find_faces(rejector.detector, view)
        detector.append(time.process_time() - start)
        start = time.process_time()
        for face in found[:1]:
            predict_landmarks(rejector.predictor, view.shown_to(rejector.predictor), face.box)
        landmarks.append(time.process_time() - start)
    return *(1e3 * float(np.median(each)) for each in (whole, detector, landmarks)), faces


def videos(rejector, clips):
    seconds = faces = frames = 0
    for clip in clips:
        tracker = FaceTracker(rejector)
        for frame in clip:
            start = time.process_time()
            faces += len(tracker.update(frame))
            seconds += time.process_time() - start
        frames += len(clip)
    return 1e3 * seconds / frames, faces / frames


if __name__ == "__main__":
    main()
