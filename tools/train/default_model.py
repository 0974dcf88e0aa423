"""Trains the models that come with the package and writes their card.

    python -m tools.train.default_model ../shared/data/faces/300w --cache cache

A fifth of the photographs is set aside. On the others, clean and degraded, the scores are trained and
calibrated by cross-validation over photographs; the card reports results on the photographs set aside.
Near-identical photographs under different names count as one: they share a fold, and those set aside that
have a copy among the others are left out. Written are default.safetensors, thorough.safetensors, the card and
its picture; linear.safetensors is kept as it is unless --linear asks for it. Equal data, versions and seeds
give equal models.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path

import numpy as np

import facereject
from facereject.faces import (
    Extractor,
    FaceContext,
    FaceDataset,
    FaceDetector,
    FaceRejector,
    LandmarkHOG,
    LandmarkPredictor,
    MirroredRuns,
    extract,
)
from facereject.faces.geometry import bounding_box, overlap
from facereject.faces.images.load import to_gray
from facereject.faces.training.fit_causes import background_features
from facereject.faces.training.train import train_on_table
from tools.train.model_card import Judged, write_card
from tools.train.other_trackers import rank_other_trackers
from tools.train.photo_copies import group_copies

PRETRAINED = Path(facereject.__file__).parent / "pretrained"
SPLIT_SEED, FIT_SEED, TEST_SEED = 0, 0, 1

#: regularisation of the linear column, as chosen for `linear` among five by cross-validation
ALPHA = 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder with annotated photographs (300-W layout)")
    parser.add_argument("--cache", help="folder for features that were already computed")
    parser.add_argument("--degradations", type=int, default=12, help="degraded versions per photograph")
    parser.add_argument("--output", type=Path, default=PRETRAINED)
    parser.add_argument("--linear", action="store_true", help="train linear.safetensors anew as well")
    parser.add_argument("--card", action="store_true", help="only write the card of the models there are")
    parser.add_argument("--trackers", help="npz file with landmarks of other trackers on AFW")
    parser.add_argument("--jobs", type=int, help="processes; all cores if not given")
    options = parser.parse_args()

    samples = FaceDataset.load(options.data)
    fit, test, group, copies = set_aside(samples)
    print(f"{samples}: {len(fit)} faces to fit, {len(test)} to test")
    photos = [group[sample.photo] for sample in fit]
    options.output.mkdir(parents=True, exist_ok=True)
    judged, trained, boxes = [], {}, {}
    for name, extractor in extractors(options.degradations).items():
        start = time.perf_counter()
        table = extract(fit, extractor, workers=options.jobs, cache=options.cache)
        tester = dataclasses.replace(extractor, random_state=TEST_SEED)
        held_out = extract(test, tester, workers=options.jobs, cache=options.cache)
        held_out = held_out.rows(~np.isin(held_out.sample, copies))
        if name == "default":
            judged.append(linear_model(options, table, photos, extractor, held_out))
        path = options.output / f"{name}.safetensors"
        if options.card:
            rejector = FaceRejector.load(path)
        else:
            background = background_features(fit, extractor)
            rejector = train_on_table(
                table, photos, extractor, "compact", alphas=(ALPHA,), background=background
            )
            rejector.save(path)
        print(f"{name}: {time.perf_counter() - start:.0f} s, {rejector!r}, {len(rejector.score.trees.roots)}")
        judged.append(Judged(name, rejector, held_out))
        trained[name] = (table, extractor)
        boxes[name] = background_features(test, tester)[0]
    others = None
    if options.trackers:
        others = rank_other_trackers(
            options.data, options.trackers, *trained["default"], fit, group, judged[0]
        )
    command = f"python -m tools.train.default_model <300w folder> --degradations {options.degradations}"
    clear = [sample for i, sample in enumerate(test) if i not in copies]
    background = count_background(clear, {each.name: each.rejector for each in judged})
    tables = {name: table for name, (table, _) in trained.items()}
    write_card(
        options.output,
        command,
        samples,
        fit,
        test,
        group,
        copies,
        judged,
        background,
        boxes,
        tables,
        others,
    )


def extractors(degradations):
    """How the pictures to fit become rows, by model."""
    plain = Extractor(
        LandmarkPredictor(),
        FaceDetector(threshold=-1.0),
        LandmarkHOG(),
        None,
        degradations,
        FIT_SEED,
        FaceContext(),
    )
    return {"default": plain, "thorough": dataclasses.replace(plain, stability=MirroredRuns())}


def linear_model(options, table, photos, extractor, held_out):
    """The linear score: as it is shipped, or trained anew on the HOG values of the table."""
    path = options.output / "linear.safetensors"
    n_hog = extractor.hog.n_features
    if options.linear:
        part = dataclasses.replace(table, features=np.ascontiguousarray(table.features[:, :n_hog]))
        train_on_table(part, photos, dataclasses.replace(extractor, context=None), "sele").save(path)
    elif not path.is_file():
        path = PRETRAINED / path.name
    features = np.ascontiguousarray(held_out.features[:, :n_hog])
    return Judged("linear", FaceRejector.load(path), dataclasses.replace(held_out, features=features))


def set_aside(samples):
    """Faces to fit, faces to test, a group for every photograph, and positions of test faces to leave out.

    The last have a copy in the fit part.
    """
    fit, test = samples.split(0.8, 0.2, random_state=SPLIT_SEED)
    group = group_copies(samples)
    seen = {group[sample.photo] for sample in fit}
    return fit, test, group, [i for i, sample in enumerate(test) if group[sample.photo] in seen]


def count_background(test, rejectors):
    """For detections that overlap no annotated face: how many, and which share is accepted, by model."""
    loose = FaceDetector(threshold=-1.0)
    faces_of = {}
    for sample in test:
        faces_of.setdefault(sample.photo, []).append(bounding_box(sample.landmarks))
    rows = {name: [] for name in rejectors}
    for sample in test:
        # crops of one photograph show each other's faces at unknown places: only single faces are clear
        if len(faces_of[sample.photo]) > 1:
            continue
        gray = to_gray(sample.load())
        for found in loose.detect(gray):
            if overlap(found.box, faces_of[sample.photo][0]) < 0.05:
                for name, model in rejectors.items():
                    rows[name].append((found.score, model.assess_box(gray, found.box).accepted))
    result = {}
    for name, values in rows.items():
        scores, accepted = np.array(values).T
        buckets = {"-1 to 0": scores < 0, "0 and more": scores >= 0}
        result[name] = {
            label: (int(b.sum()), float(accepted[b].mean())) for label, b in buckets.items() if b.any()
        }
    return result


if __name__ == "__main__":
    main()
