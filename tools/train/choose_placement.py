"""The mean of several runs of the predictor, or the run that the score trusts most?

    python -m tools.train.choose_placement ../shared/data/faces/300w

Every fourth face of the fit part of the model card, clean and in three degraded versions: mean error of the
first run, of the mean of two and of six runs (before the correction), and of the candidate with the lowest
uncertainty by `default`, among the six runs and with both means among the candidates.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from facereject.faces import FaceDataset, FaceRejector, RefinedRuns
from facereject.faces.features.recipe import THOROUGH_ANGLES
from facereject.faces.landmarks.base import NoLandmarksError, place_landmarks
from facereject.faces.training.extract import FacePicture
from facereject.losses import landmark_nme
from tools.train.default_model import extractors, set_aside

EVERY, VERSIONS, RUNS = 4, 4, 1 + len(THOROUGH_ANGLES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder with annotated photographs (300-W layout)")
    fit, *_ = set_aside(FaceDataset.load(parser.parse_args().data))
    rejector = FaceRejector.pretrained()
    extractor = extractors(8)["default"]
    rows: dict[str, list[tuple[list[float], list[float]]]] = {"clean": [], "degraded": []}
    for index in range(0, len(fit), EVERY):
        for version, picture in zip(range(VERSIONS), extractor.pictures(index, fit[index]), strict=False):
            if picture is None:
                continue
            try:
                candidates = list(placements(rejector, picture))
            except NoLandmarksError:
                continue
            errors = [float(landmark_nme(picture.truth, each)) for each in candidates]
            found = [rejector.assess(picture.view.rgb, each, picture.found.box) for each in candidates]
            rows["degraded" if version else "clean"].append((errors, [face.uncertainty for face in found]))
    for name, pairs in rows.items():
        errors, uncertainty = np.array(pairs).transpose(1, 0, 2)
        every = np.arange(len(errors))
        print(
            f"{name:8s} {len(errors):5d} faces: first run {errors[:, 0].mean():.3f}, "
            f"mean of two {errors[:, RUNS].mean():.3f}, of six {errors[:, RUNS + 1].mean():.3f}, "
            f"most trusted run {errors[every, uncertainty[:, :RUNS].argmin(axis=1)].mean():.3f}, "
            f"most trusted of runs and means {errors[every, uncertainty.argmin(axis=1)].mean():.3f}"
        )


def placements(rejector: FaceRejector, picture: FacePicture) -> Iterator[np.ndarray]:
    """The landmarks of six runs, then the means of two and of all."""
    predictor, runs = rejector.predictor, RefinedRuns(THOROUGH_ANGLES)
    image = picture.view.shown_to(predictor)
    first = place_landmarks(predictor, image, picture.found, 68, rejector.upright_beyond)
    together, more = first, []
    yield first
    for number, angle in enumerate(runs.angles):
        more.append(runs._run(predictor, image, together, angle, number % 2 == 0))
        yield more[-1]
        if number == 0:
            together = runs._mean(first, np.array(more))
    yield together
    yield runs._mean(first, np.array(more))


if __name__ == "__main__":
    main()
