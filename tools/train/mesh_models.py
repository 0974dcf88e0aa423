"""Trains the models `mesh` and `mesh-free` that come with the package, and writes their card.

    facereject models get mesh
    python -m tools.train.mesh_map ../shared/data/faces/300w
    python -m tools.train.mesh_models ../shared/data/faces/300w ../shared/data/faces/london --cache cache

``mesh``: YuNet, the mesh with its fitted map, and a score trained on annotated photographs of 300-W. The
photographs set aside are those of tools/train/default_model.py.

``mesh-free``: YuNet, the mesh with its fixed correspondences, and a score trained without annotation on the
Face Research Lab London Set: the landmarks on the photograph as it is are the truth for its degraded
versions. The unit comes from the points that were placed by hand on the neutral faces of that set, and the
target from their errors, too: accepted is a face whose expected error is at most twice that of a studio
photograph. It learns nothing from 300-W; its card says what was looked at there.

``--card`` writes the card of the models there are.

Both run the mesh once more on a mirrored copy, and compare its points with YuNet's.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import numpy as np

from facereject.faces import FaceDataset, FaceRejector, FaceSample, LandmarkHOG, RefinedRuns, Target, load_rgb
from facereject.faces.datasets import photo_digests
from facereject.faces.detectors.yunet import YuNetDetector
from facereject.faces.features.context import FaceContext
from facereject.faces.geometry import fit_similarity, transform_points
from facereject.faces.landmarks.face_mesh import FaceMesh
from facereject.faces.training.details import background_features
from facereject.faces.training.extract import Extractor, extract
from facereject.faces.training.options import Training
from facereject.faces.training.train import train_on_table
from facereject.losses import landmark_nme
from tools.train.default_model import ALPHA, FIT_SEED, PRETRAINED, TEST_SEED, set_aside
from tools.train.london_points import hand_placed
from tools.train.mesh_card import Result, write_mesh_card

FOLDS = 4

#: largest expected error that `mesh-free` accepts, over the mean error of the London faces as they are
LARGEST_ERROR = 2.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder with annotated photographs (300-W layout)")
    parser.add_argument("london", type=Path, help="folder of the Face Research Lab London Set")
    parser.add_argument("--cache", help="folder for features that were already computed")
    parser.add_argument("--degradations", type=int, default=8, help="degraded versions, 300-W")
    parser.add_argument("--test-degradations", type=int, default=5, help="of those set aside")
    parser.add_argument("--london-degradations", type=int, default=16, help="the same, London Set")
    parser.add_argument("--output", type=Path, default=PRETRAINED)
    parser.add_argument("--card", action="store_true", help="only write the card of the models there are")
    parser.add_argument("--jobs", type=int, help="processes; all cores if not given")
    options = parser.parse_args()
    run = {"workers": options.jobs, "cache": options.cache}

    fit, test, group, copies = set_aside(FaceDataset.load(options.data))
    extractors = {
        name: Extractor(
            FaceMesh(points),
            YuNetDetector(),
            LandmarkHOG(),
            RefinedRuns(),
            options.degradations,
            FIT_SEED,
            FaceContext(detector=True),
        )
        for name, points in (("mesh-free", "fixed"), ("mesh", "fitted"))
    }
    options.output.mkdir(parents=True, exist_ok=True)
    many = dataclasses.replace(extractors["mesh-free"], degradations=options.london_degradations)
    rejectors, results = {}, []
    for name, train, inputs in (
        ("mesh-free", train_free, (options.london, many)),
        ("mesh", train_mesh, (fit, group, extractors["mesh"])),
    ):
        path = options.output / f"{name}.safetensors"
        if options.card:
            rejectors[name] = FaceRejector.load(path)
        else:
            rejectors[name] = train(*inputs, run)
            rejectors[name].save(path)
        print(f"{name}: {rejectors[name]!r}")
    for name, extractor in extractors.items():
        tester = dataclasses.replace(
            extractor, degradations=options.test_degradations, random_state=TEST_SEED
        )
        table = extract(test, tester, **run)
        results.append(Result(name, "", table.rows(~np.isin(table.sample, copies)), names(test, group)))
        if name == "mesh-free":
            # it has seen no photograph of 300-W, so that copies of one in both parts need not go
            rest = extract(fit, tester, **run)
            results.append(Result(name, " of the others", rest, names(fit, group)))
            both = joined(rest, table, len(fit))
            results.append(Result(name, " of all", both, names([*fit, *test], group)))
    write_mesh_card(options.output / "CARD-mesh.md", rejectors, results, options.test_degradations)


def names(samples, group):
    """The photograph of every sample, near copies under one name."""
    return np.array([group[sample.photo] for sample in samples])


def joined(first, second, samples):
    """The rows of two tables, as far as the card reads them; the first is of this many samples."""
    shifted = dataclasses.replace(second, sample=second.sample + samples, missed=first.missed + second.missed)
    columns = ("features", "losses", "detector_scores", "sample", "variant")
    values = {name: np.concatenate([getattr(each, name) for each in (first, shifted)]) for name in columns}
    return dataclasses.replace(shifted, **values)


def train_mesh(fit, group, extractor, run):
    """The model for the fitted map, on annotated photographs."""
    table = extract(fit, extractor, **run)
    photos = [group[sample.photo] for sample in fit]
    background = background_features(fit, extractor)
    rejector = train_on_table(
        table, photos, extractor, "compact", Training(alphas=(ALPHA,), folds=FOLDS), background=background
    )
    rejector.info["photo_digests"] = photo_digests(fit)
    rejector.info["licence"] = "trained on iBUG 300-W: no commercial use"
    return rejector


def train_free(folder, extractor, run):
    """The model that needs neither annotation nor photographs of 300-W."""
    samples = FaceDataset([own_landmarks(path, extractor) for path in sorted(folder.glob("*.jpg"))])
    table = extract(samples, extractor, **run)
    # the two photographs of a person are one
    person = [sample.photo for sample in samples]
    background = background_features(samples, extractor)
    # photographs as they are have no error here, so that none could be a target
    rejector = train_on_table(
        table,
        person,
        extractor,
        "compact",
        Training(alphas=(ALPHA,), folds=FOLDS),
        target=Target("coverage", 0.5),
        background=background,
        # lost faces are rare: in one degraded version of each there may be none
        calibrated_on=np.arange(len(table)),
    )
    placed = hand_placed(folder, samples)
    rows = np.flatnonzero(np.isin(table.sample, list(placed)))
    losses = np.array([_error_by_hand(table, row, samples, placed) for row in rows])
    clean = table.clean[rows]
    # as in every calibration, there are as many clean faces as degraded ones
    even = np.repeat(np.arange(len(rows)), np.where(clean, extractor.degradations, 1))
    rejector = rejector.with_calibration(losses[even], rejector.calibration.uncertainty[rows][even])
    # these are not faces of the user: others are still compared with them
    del rejector.info["own_faces"]
    # A mean error as of the studio photographs would reject nearly every other photograph: their errors are
    # larger, and expected to be so. So every face counts by itself.
    studio = float(losses[clean].mean())
    rejector = rejector.with_target(cost=LARGEST_ERROR * studio)
    rejector.info["licence"] = "trained on the Face Research Lab London Set: CC BY 4.0 (DeBruine & Jones)"
    rejector.info["photo_digests"] = photo_digests(samples)
    return rejector


def own_landmarks(path, extractor):
    """A photograph with the landmarks that the predictor places on it as it is."""
    image = load_rgb(path)
    (found, *_) = extractor.detector.detect(image)
    return FaceSample(path, extractor.predictor(image, found.box), path.stem[:3])


def _error_by_hand(table, row, samples, placed):
    """The error of a row against the points placed by hand, moved as the photograph was."""
    number = int(table.sample[row])
    moved = fit_similarity(samples[number].landmarks, table.truth[row].astype(np.float64))
    return float(landmark_nme(transform_points(moved, placed[number]), table.landmarks[row]))


if __name__ == "__main__":
    main()
