"""dlib's landmark predictor in memory pages of 2 MB and of 4 KB: python tools/bench/large_pages.py

Processes that load it as the package does, and without its advice to Linux, take turns; medians of processor
time. Three people are tracked in a still image of 960 x 480 pixels; a photo shows one of them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import subprocess
import sys

import numpy as np


def measure(rounds: int) -> dict[str, float]:
    """Median milliseconds in this process, and its peak memory in MiB."""
    import cv2
    import skimage.data
    from faces import milliseconds

    from facereject.faces import FaceRejector
    from facereject.tracking import FaceTracker

    cv2.setNumThreads(1)
    photo = np.ascontiguousarray(skimage.data.astronaut()[:480])
    people = np.ascontiguousarray(np.hstack([photo[:, 60:380]] * 3))
    rejector = FaceRejector.pretrained()
    tracker = FaceTracker(rejector)
    (face,) = rejector(photo)
    gray = cv2.cvtColor(photo, cv2.COLOR_RGB2GRAY)
    assert len(tracker.update(people)) == 3
    calls = {
        "predictor": lambda: rejector.predictor(gray, face.box),
        "three people tracked": lambda: tracker.update(people),
        "a photo": lambda: rejector(photo),
    }
    # after a search, as in a photo: the predictor is not in the caches
    times = milliseconds(calls, lambda _: rejector.detector.detect(gray), rounds)
    took = {name: float(np.median(values)) for name, values in times.items()}
    return {**took, "peak memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=30, help="in each process")
    parser.add_argument("--processes", type=int, default=7, help="of either kind")
    parser.add_argument("--here", choices=("small", "large"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        if options.here == "small":
            from facereject.faces.landmarks import dlib_trees

            dlib_trees.large_pages = contextlib.nullcontext
        print(json.dumps(measure(options.rounds)))
        return
    found: dict[str, list[dict[str, float]]] = {"small": [], "large": []}
    for _ in range(options.processes):
        for pages, results in found.items():
            command = [sys.executable, __file__, "--here", pages, "--rounds", str(options.rounds)]
            answer = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            results.append(json.loads(answer.stdout))
    for name in found["small"][0]:
        small, large = (np.array([each[name] for each in results]) for results in found.values())
        # neighbours in time: what slows the machine down for a while slows both
        ratio = float(np.median(large / small))
        unit = "MiB" if name == "peak memory" else "ms"
        print(f"{name:20s} {np.median(small):8.2f} -> {np.median(large):8.2f} {unit}, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
