"""Trains the models that come with the package and writes their card.

    python tools/train_default_model.py ../shared/data/faces/300w --cache cache

A fifth of the photographs is set aside. On the others, clean and degraded, the scores are trained,
regularised and calibrated by cross-validation over photographs; the card reports results on the photographs
set aside. Near-identical photographs under different names count as one: they share a fold, and those set
aside that have a copy among the others are left out. Written are default.safetensors, thorough.safetensors,
the card and its picture. Equal data, versions and seeds give equal models.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path

import numpy as np
from model_card import write_card
from photo_copies import group_copies

import facereject
from facereject.faces import (
    DEGRADATIONS,
    Extractor,
    FaceDataset,
    FaceDetector,
    LandmarkHOG,
    LandmarkPredictor,
    LandmarkStability,
    extract,
)
from facereject.faces.evaluation.results import gap_closed
from facereject.faces.geometry import bounding_box, overlap
from facereject.faces.images.load import to_gray
from facereject.faces.training.train import fit_score, train_on_table

PRETRAINED = Path(facereject.__file__).parent / "pretrained"
SPLIT_SEED, FIT_SEED, TEST_SEED = 0, 0, 1

DEFAULT = "SELE (linear), `default`"

#: what is trained: name in the card -> (score, with stability features, file it is shipped as)
MODELS = {
    "REG (linear)": ("reg", False, None),
    DEFAULT: ("sele", False, "default"),
    "SELE + stability, `thorough`": ("sele", True, "thorough"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder with annotated photographs (300-W layout)")
    parser.add_argument("--cache", help="folder for features that were already computed")
    parser.add_argument("--degradations", type=int, default=12, help="degraded versions per photograph")
    parser.add_argument("--output", type=Path, default=PRETRAINED)
    parser.add_argument("--boosted", action="store_true", help="also fit trees, for the table of the card")
    parser.add_argument("--jobs", type=int, help="processes; all cores if not given")
    options = parser.parse_args()

    samples = FaceDataset.load(options.data)
    fit, test, group, copies = set_aside(samples)
    print(f"{samples}: {len(fit)} faces to fit, {len(test)} to test")
    extractor = Extractor(
        LandmarkPredictor(),
        FaceDetector(threshold=-1.0),
        LandmarkHOG(),
        LandmarkStability(),
        options.degradations,
        FIT_SEED,
    )
    tester = dataclasses.replace(extractor, random_state=TEST_SEED)
    table = extract(fit, extractor, workers=options.jobs, cache=options.cache)
    held_out = extract(test, tester, workers=options.jobs, cache=options.cache)
    n_hog = extractor.hog.n_features
    photos = [group[sample.photo] for sample in fit]
    print(f"{len(set(group.values()))} groups of photographs; {len(copies)} test faces with a copy left out")

    rejectors = {}
    for name, (score, stable, file) in MODELS.items():
        start = time.perf_counter()
        width = n_hog + (extractor.stability.n_features if stable else 0)
        part = dataclasses.replace(table, features=np.ascontiguousarray(table.features[:, :width]))
        how = extractor if stable else dataclasses.replace(extractor, stability=None)
        rejectors[name] = train_on_table(part, photos, how, score)
        info = rejectors[name].info
        print(f"{name}: alpha {info['alpha']}, {time.perf_counter() - start:.0f} s, {rejectors[name]!r}")
        for row in info["cross_validation"]:
            print("   ", row)
        if file is not None:
            options.output.mkdir(parents=True, exist_ok=True)
            rejectors[name].save(options.output / f"{file}.safetensors")
    extra = {}
    if options.boosted:
        part = dataclasses.replace(table, features=np.ascontiguousarray(table.features[:, :n_hog]))
        extra["boosted trees (SELE)"] = fit_score(part, "boosted", None, rejectors[DEFAULT].info["clip"])
    command = f"python tools/train_default_model.py <300w folder> --degradations {options.degradations}"
    held_out = without_samples(held_out, copies)
    clear = [sample for i, sample in enumerate(test) if i not in copies]
    background = count_background(clear, rejectors)
    unseen = leave_kinds_out(table, held_out, rejectors[DEFAULT])
    write_card(
        options.output, command, samples, test, group, copies, held_out, rejectors, extra, background, unseen
    )


def set_aside(samples):
    """Faces to fit, faces to test, a group for every photograph, and positions of test faces to leave out.

    The last have a copy in the fit part.
    """
    fit, test = samples.split(0.8, 0.2, random_state=SPLIT_SEED)
    group = group_copies(samples)
    seen = {group[sample.photo] for sample in fit}
    return fit, test, group, [i for i, sample in enumerate(test) if group[sample.photo] in seen]


def without_samples(table, left_out):
    """The table without the rows of some samples; missed faces are counted among all."""
    keep = ~np.isin(table.sample, left_out)
    names = ("features", "losses", "detector_scores", "sample", "variant")
    kinds = tuple(kind for kind, kept in zip(table.kinds, keep, strict=True) if kept)
    return dataclasses.replace(table, **{name: getattr(table, name)[keep] for name in names}, kinds=kinds)


def leave_kinds_out(table, held_out, rejector):
    """Share of the gap closed on pictures of one kind: by the model, and by one that never saw that kind."""
    n_hog = rejector.hog.n_features
    part = dataclasses.replace(table, features=np.ascontiguousarray(table.features[:, :n_hog]))
    features = held_out.features[:, :n_hog]
    result = {}
    for kind in [*DEGRADATIONS, "box"]:
        seen, tested = (np.array([kind in k.split("+") for k in t.kinds]) for t in (table, held_out))
        model = fit_score(part, "sele", rejector.info["alpha"], rejector.info["clip"], rows=~seen)
        losses, scores = held_out.losses[tested], held_out.detector_scores[tested]
        shares = [gap_closed(losses, scores, score(features[tested])) for score in (rejector.score, model)]
        result[kind] = (int(tested.sum()), *shares)
    return result


def count_background(test, rejectors):
    """For detections that overlap no annotated face: how many, and which share is accepted, by model."""
    loose = FaceDetector(threshold=-1.0)
    faces_of = {}
    for sample in test:
        faces_of.setdefault(sample.photo, []).append(bounding_box(sample.landmarks))
    shipped = {name: model for name, model in rejectors.items() if MODELS[name][2] is not None}
    rows = {name: [] for name in shipped}
    for sample in test:
        image = sample.load()
        gray = to_gray(image)
        for found in loose.detect(gray):
            # crops of one photograph show each other's faces at unknown places: only single faces are clear
            if len(faces_of[sample.photo]) == 1 and overlap(found.box, faces_of[sample.photo][0]) < 0.05:
                for name, model in shipped.items():
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
