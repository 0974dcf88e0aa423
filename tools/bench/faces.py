"""What a rejector costs beside dlib's own time, at 640x480 with one face: python tools/bench/faces.py

All parts run in turn, many times over, in one thread. Compared are medians of the processor time of that
thread, which other work on the machine does not count into. Each comes right after what it follows in a
rejector, the predictor after the detector and the rest after the predictor: these take megabytes through the
caches. "again" is a call right after the same one, as in a loop of its own. "bare dlib" is grey conversion,
detection and landmarks without this package. "assessing" is all that comes after the landmarks until a face
is accepted or rejected, the second run of the predictor included; "all of it read" the same with what is
computed when it is first read: the error of each point, visibility, cause and pose.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable
from typing import Any

import cv2
import dlib
import numpy as np
import skimage.data
from numpy.typing import NDArray

from facereject.faces import FaceRejector
from facereject.faces.face import lazy_thumbnail
from facereject.faces.features.recipe import RefinedRuns, Runs
from facereject.faces.images import Views
from facereject.faces.landmarks.dlib_trees import default_model_path


def milliseconds(
    calls: dict[str, Callable[[], Any]], before: Callable[[str], Any], rounds: int
) -> dict[str, NDArray[np.float64]]:
    """Processor times of every call, taken in turn, each after a call of ``before`` with its name."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            before(name)
            start = time.thread_time()
            call()
            times[name].append(1e3 * (time.thread_time() - start))
    return {name: np.array(values) for name, values in times.items()}


def measure(rounds: int) -> dict[str, NDArray[np.float64]]:
    """Milliseconds of processor time of all parts, and of bare dlib and whole rejectors, for each round."""
    cv2.setNumThreads(1)
    wide = cv2.copyMakeBorder(skimage.data.astronaut(), 0, 0, 64, 64, cv2.BORDER_REFLECT)
    rgb = np.ascontiguousarray(wide[:480])
    gray = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
    assert rgb.shape == (480, 640, 3)

    rejector, thorough = FaceRejector.pretrained(), FaceRejector.pretrained("thorough")
    detector = rejector.detector
    linear = FaceRejector.pretrained("dlib")
    (face,) = detector.detect(rgb)
    landmarks = rejector.predictor(gray, face.box)
    dlib_detector = dlib.get_frontal_face_detector()
    dlib_predictor = dlib.shape_predictor(str(default_model_path()))

    def bare() -> None:
        image = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
        for box in dlib_detector.run(image, 0, 0.0)[0]:
            [(point.x, point.y) for point in dlib_predictor(image, box).parts()]

    view = Views(gray)

    runs = rejector.stability(gray, landmarks, rejector.predictor)

    class Known(RefinedRuns):
        """Further runs that cost nothing: they are timed apart."""

        def __call__(self, *_: Any) -> Runs:
            return runs

    features = dataclasses.replace(rejector.features, stability=Known(rejector.stability.angles))

    def features_and_score(model: FaceRejector) -> None:
        parts = features if model is rejector else model.features
        model.score(parts(view, face, landmarks, model.predictor).values[None])

    def stability() -> None:
        thorough.stability(gray, landmarks, thorough.predictor)

    def all_read() -> None:
        rejector.assess(view, landmarks, face.box).to_dict()

    def predict() -> None:
        rejector.predictor(gray, face.box)

    def before(name: str) -> None:
        if name == "predictor":
            detector.detect(rgb)
        elif name == "features + score, again":
            features_and_score(rejector)
        else:
            predict()

    return milliseconds(
        {
            "detector": lambda: detector.detect(rgb),
            "dlib's detector": lambda: linear.detector.detect(gray),
            "predictor": predict,
            "predictor, again": predict,
            "features + score": lambda: features_and_score(rejector),
            "features + score, again": lambda: features_and_score(rejector),
            "the same, linear": lambda: features_and_score(linear),
            "assessing": lambda: rejector.assess(view, landmarks, face.box),
            "all of it read": all_read,
            "thumbnail": lambda: lazy_thumbnail(rgb, face.box)(),
            "second run": lambda: rejector.stability(gray, landmarks, rejector.predictor),
            "five more runs": stability,
            "bare dlib": bare,
            "rejector": lambda: rejector(rgb),
            "dlib rejector": lambda: linear(rgb),
            "thorough rejector": lambda: thorough(rgb),
        },
        before,
        rounds,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    times = measure(parser.parse_args().rounds)
    time_of = {name: float(np.median(values)) for name, values in times.items()}
    for name, value in time_of.items():
        print(f"{name:24s} {value:8.2f} ms {1e3 / value:10.1f} per second")
    extra = time_of["features + score"]
    print(f"features + score / predictor               {extra / time_of['predictor']:6.2f}   (bar: 0.35)")
    again = time_of["features + score, again"] / time_of["predictor, again"]
    print(f"{'the same, each again':42s} {again:6.2f}")
    ratio = time_of["thorough rejector"] / time_of["rejector"]
    print(f"{'thorough rejector / rejector':42s} {ratio:6.2f}")
    # of the same round: what slows the machine down for a while slows both
    beyond = float(np.median(times["rejector"] - times["bare dlib"]))
    print(f"{'rejector - bare dlib':42s} {beyond:6.2f} ms")
    print(
        f"{'rejector / dlib rejector':42s} {time_of['rejector'] / time_of['dlib rejector']:6.2f}   (bar: 0.8)"
    )
    for name in ("rejector", "dlib rejector", "thorough rejector"):
        print(f"{name + ' / bare dlib':42s} {time_of[name] / time_of['bare dlib']:6.3f}")


if __name__ == "__main__":
    main()
