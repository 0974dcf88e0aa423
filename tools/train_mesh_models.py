"""Trains the models `mesh` and `mesh-free` that come with the package, and writes their card.

    facereject models get mesh
    python tools/fit_mesh_map.py ../shared/data/faces/300w
    python tools/train_mesh_models.py ../shared/data/faces/300w ../shared/data/faces/london --cache cache

``mesh``: YuNet, the mesh with its fitted map, and a score trained on annotated photographs of 300-W. The
photographs set aside are those of tools/train_default_model.py.

``mesh-free``: YuNet, the mesh with its fixed correspondences, and a score trained without annotation on the
Face Research Lab London Set: the landmarks on the photograph as it is are the truth for its degraded
versions. The unit comes from the points that were placed by hand on the neutral faces of that set. Nothing of
300-W decides anything about it; the results on it are for comparison.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import numpy as np
from london_points import hand_placed
from mesh_card import write_mesh_card
from train_default_model import FIT_SEED, PRETRAINED, TEST_SEED, set_aside, without_samples

from facereject.faces import Extractor, FaceDataset, FaceSample, LandmarkHOG, extract, load_rgb
from facereject.faces.datasets import photo_digests
from facereject.faces.detectors.yunet import YuNetDetector
from facereject.faces.landmarks.face_mesh import FaceMesh
from facereject.faces.models.calibration import Calibration
from facereject.faces.training.train import calibration_rows, fit_score, photo_folds, train_on_table

FOLDS = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder with annotated photographs (300-W layout)")
    parser.add_argument("london", type=Path, help="folder of the Face Research Lab London Set")
    parser.add_argument("--cache", help="folder for features that were already computed")
    parser.add_argument("--degradations", type=int, default=5, help="degraded versions, 300-W")
    parser.add_argument("--london-degradations", type=int, default=16, help="the same, London Set")
    parser.add_argument("--output", type=Path, default=PRETRAINED)
    parser.add_argument("--jobs", type=int, help="processes; all cores if not given")
    options = parser.parse_args()
    run = {"workers": options.jobs, "cache": options.cache}

    fit, test, group, copies = set_aside(FaceDataset.load(options.data))
    extractors, held_out = {}, {}
    for name, points in (("mesh", "fitted"), ("mesh-free", "fixed")):
        extractors[name] = Extractor(
            FaceMesh(points), YuNetDetector(), LandmarkHOG(), None, options.degradations, FIT_SEED
        )
    # in the order of the time they take, so that a first result comes early
    free = train_free(options.london, extractors["mesh-free"], options.london_degradations, run)
    for name, extractor in extractors.items():
        tester = dataclasses.replace(extractor, random_state=TEST_SEED)
        held_out[name] = without_samples(extract(test, tester, **run), copies)
    photos = [group[sample.photo] for sample in fit]
    mesh = train_on_table(extract(fit, extractors["mesh"], **run), photos, extractors["mesh"], folds=FOLDS)
    mesh.info["photo_digests"] = photo_digests(fit)
    mesh.info["licence"] = "trained on iBUG 300-W: no commercial use"
    rejectors = {"mesh": mesh, "mesh-free": free}
    options.output.mkdir(parents=True, exist_ok=True)
    for name, rejector in rejectors.items():
        rejector.save(options.output / f"{name}.safetensors")
    versions = len(test), len(test) * options.degradations
    photo = [group[sample.photo] for sample in test]
    write_mesh_card(options.output / "CARD-mesh.md", rejectors, held_out, versions, photo)


def train_free(folder, extractor, degradations, run):
    """The model that needs neither annotation nor photographs of 300-W."""
    extractor = dataclasses.replace(extractor, degradations=degradations)
    samples = FaceDataset([own_landmarks(path, extractor) for path in sorted(folder.glob("*.jpg"))])
    by_hand = FaceDataset(hand_placed(folder, extractor))
    table = extract(samples, extractor, **run)
    # one degraded version of each is used, and the last one only moves the box
    checked = extract(by_hand, dataclasses.replace(extractor, degradations=5), **run)
    # the two photographs of a person are one
    person, person_by_hand = ([Path(s.image_path).stem[:3] for s in each] for each in (samples, by_hand))
    rejector = train_on_table(table, person, extractor, folds=FOLDS)
    fold = dict(zip(person, photo_folds(person, FOLDS, FIT_SEED), strict=True))
    uncertainty = np.full(len(checked), np.nan)
    for k in range(FOLDS):
        seen = np.array([fold[person[i]] != k for i in table.sample])
        model = fit_score(table, "sele", rejector.info["alpha"], rejector.info["clip"], rows=seen)
        rows = np.array([fold[person_by_hand[i]] == k for i in checked.sample])
        uncertainty[rows] = model(checked.features[rows])
    rows = calibration_rows(checked, FIT_SEED)
    calibration = Calibration(losses=checked.losses[rows], uncertainty=uncertainty[rows])
    clean = float(checked.losses[checked.clean].mean())
    rejector = rejector.with_calibration(calibration.losses, calibration.uncertainty)
    rejector = rejector.with_target(max_error=1.25 * clean)
    rejector.info["licence"] = "trained on the Face Research Lab London Set: CC BY 4.0 (DeBruine & Jones)"
    rejector.info["photo_digests"] = photo_digests(samples)
    return rejector


def own_landmarks(path, extractor):
    """A photograph with the landmarks that the predictor places on it as it is."""
    image = load_rgb(path)
    (found, *_) = extractor.detector.detect(image)
    return FaceSample(path, extractor.predictor(image, found.box), path.stem[:3])


if __name__ == "__main__":
    main()
