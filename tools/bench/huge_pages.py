"""dlib's landmark predictor in memory of large pages: python tools/bench/huge_pages.py

The predictor reads a few thousand small pieces of its 100 MB, all over the place. With glibc, the environment
variable GLIBC_TUNABLES=glibc.malloc.hugetlb=1 asks Linux for pages of 2 MB, so that the processor need not
look up where each piece lies. Processes with and without it take turns, in processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np

TUNABLES = "glibc.malloc.hugetlb=1"
LARGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def measure(rounds: int) -> dict[str, float]:
    """Median milliseconds in this process, and its peak memory in MiB."""
    import cv2
    import skimage.data
    from faces import milliseconds

    from facereject.faces import FaceRejector

    cv2.setNumThreads(1)
    image = skimage.data.astronaut()
    rejector = FaceRejector.pretrained()
    (face,) = rejector(image)
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    calls = {
        "predictor": lambda: rejector.predictor(gray, face.box),
        "a followed face": lambda: rejector.assess_box(gray, face.box),
        "a whole photo": lambda: rejector(image),
    }
    # after a search, as in a photo: the predictor is not in the caches
    times = milliseconds(calls, lambda _: rejector.detector.detect(gray), rounds)
    took = {name: float(np.median(values)) for name, values in times.items()}
    return {**took, "peak memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30, help="in each process")
    parser.add_argument("--processes", type=int, default=7, help="of either kind")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        print(json.dumps(measure(options.rounds)))
        return
    if not LARGE_PAGES.is_file():
        sys.exit("large pages are measured on Linux only")
    print(f"pages of 2 MB on this machine: {LARGE_PAGES.read_text().strip()}")
    found: dict[str, list[dict[str, float]]] = {"": [], TUNABLES: []}
    for _ in range(options.processes):
        for tunables, results in found.items():
            command = [sys.executable, __file__, "--here", "--rounds", str(options.rounds)]
            environment = {**os.environ, "GLIBC_TUNABLES": tunables}
            answer = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
            results.append(json.loads(answer.stdout))
    for name in found[""][0]:
        without, with_it = (np.array([each[name] for each in results]) for results in found.values())
        # neighbours in time: what slows the machine down for a while slows both
        ratio = float(np.median(with_it / without))
        unit = "MiB" if name == "peak memory" else "ms"
        print(f"{name:16s} {np.median(without):8.2f} -> {np.median(with_it):8.2f} {unit}, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
