"""Training with and without annotation: python tools/bench/unlabelled.py ../shared/data/faces/300w

Share of the gap between detector score and oracle that a linear score closes on photographs set aside,
trained on so many faces of the others, with human annotation and with the predictor's own landmarks in its
place. ``--score compact`` trains the trees of the shipped models.

dlib's published predictor was trained on these photographs. ``--predictors FOLDER`` takes the predictors that
``python -m tools.reproduce landmarks --work FOLDER`` has trained: each is used only on the fifth of the
photographs that it has not seen.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from facereject.faces import (
    FaceDataset,
    FaceDetector,
    FaceRejector,
    FaceSample,
    LandmarkHOG,
    LandmarkPredictor,
)
from facereject.faces.detectors.base import judging_detector
from facereject.faces.features.context import FaceContext
from facereject.faces.models.ranking import gap_closed
from facereject.faces.training.annotation import annotate_by_predictor
from facereject.faces.training.extract import Extractor, FaceTable, extract
from facereject.faces.training.train import train_on_table

sys.path.insert(0, str(Path(__file__).parents[2]))

from tools.reproduce.landmark_predictors import Training, predictor_files
from tools.reproduce.landmark_tables import join
from tools.train.default_model import FIT_SEED, TEST_SEED, set_aside
from tools.train.photo_copies import group_copies


class Judge(NamedTuple):
    """A predictor, and the photographs it is used on; None is all of them."""

    predictor: LandmarkPredictor
    photographs: frozenset[Path] | None = None


def published() -> list[Judge]:
    """dlib's published predictor, for all photographs."""
    return [Judge(LandmarkPredictor())]


def cross_fitted(samples: FaceDataset, work: Path, training: Training) -> list[Judge]:
    """Predictors of the folder, each for the photographs it has not seen."""
    copies = group_copies(samples)
    fold, paths = predictor_files(samples, [copies[sample.photo] for sample in samples], training, work)
    if missing := [path.name for path in paths if not path.is_file()]:
        raise SystemExit(
            f"{work} lacks {', '.join(missing)}; run python -m tools.reproduce landmarks --work {work}"
        )
    return [
        Judge(
            LandmarkPredictor(path),
            frozenset(sample.image_path for sample, f in zip(samples, fold, strict=True) if f == k),
        )
        for k, path in enumerate(paths)
    ]


def make_table(
    samples: Sequence[FaceSample],
    judges: Sequence[Judge],
    degradations: int,
    seed: int,
    context: FaceContext | None,
    options: argparse.Namespace,
) -> tuple[FaceTable, Extractor]:
    """The rows of all samples, each by its predictor, and how they were made."""
    tables, numbers = [], []
    for judge in judges:
        number = np.flatnonzero([_is_for(judge, sample.image_path) for sample in samples])
        if not len(number):
            continue
        extractor = Extractor(
            judge.predictor,
            FaceDetector.for_training(),
            LandmarkHOG(),
            degradations=degradations,
            random_state=seed,
            context=context,
        )
        own = [samples[int(i)] for i in number]
        tables.append(extract(own, extractor, workers=options.workers, cache=options.cache))
        numbers.append(number)
    return join(tables, numbers), extractor


def annotated(samples: Sequence[FaceSample], judges: Sequence[Judge]) -> FaceDataset:
    """The photographs of the samples, annotated by the predictors themselves."""
    detector = judging_detector(FaceDetector.for_training(), None)[0]
    found: list[FaceSample] = []
    for judge in judges:
        photographs = [sample.image_path for sample in samples if _is_for(judge, sample.image_path)]
        if photographs:
            found += annotate_by_predictor(photographs, judge.predictor, detector)
    return FaceDataset(found)


def _is_for(judge: Judge, photograph: Path) -> bool:
    return judge.photographs is None or photograph in judge.photographs


def train(
    samples: Sequence[FaceSample], judges: Sequence[Judge], by_hand: bool, options: argparse.Namespace
) -> FaceRejector:
    """A rejector from annotated samples, or from their photographs alone."""
    used = samples if by_hand else annotated(samples, judges)
    context = FaceContext() if options.score == "compact" else None
    table, extractor = make_table(used, judges, options.degradations, FIT_SEED, context, options)
    photos = [sample.photo for sample in used]
    return train_on_table(table, photos, extractor, options.score, clean_errors=by_hand)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder with annotated photographs (300-W layout)")
    parser.add_argument("--photographs", type=int, nargs="+", default=[100, 500, 2000])
    parser.add_argument("--score", choices=("sele", "compact"), default="sele")
    parser.add_argument("--degradations", type=int, default=3, help="degraded versions per photograph")
    parser.add_argument("--test-degradations", type=int, default=12, help="the same of those set aside")
    parser.add_argument("--predictors", type=Path, help="folder of cross-fitted predictors")
    parser.add_argument("--cache")
    parser.add_argument("--workers", type=int, default=1)
    compare(parser.parse_args(arguments))


def compare(options: argparse.Namespace, training: Training | None = None) -> None:
    """Print the table; ``training`` is how the predictors of ``--predictors`` were trained."""
    samples = FaceDataset.load(options.data)
    judges = published()
    if options.predictors is not None:
        judges = cross_fitted(samples, options.predictors, training or Training())
    fit, test, _, copies = set_aside(samples)
    held_out, _ = make_table(test, judges, options.test_degradations, TEST_SEED, FaceContext(), options)
    held_out = held_out.rows(~np.isin(held_out.sample, copies))
    boxes = np.array(["box" in kind for kind in held_out.kinds])
    groups = {"clean": held_out.clean, "degraded, detector's box": ~held_out.clean & ~boxes}
    order = np.random.default_rng(0).permutation(len(fit))
    print("| faces | annotation | " + " | ".join(groups) + " |\n|---|---|---|---|")
    for number in options.photographs:
        chosen = FaceDataset([fit[int(i)] for i in np.sort(order[:number])])
        for name, by_hand in (("human", True), ("none", False)):
            score: Any = train(chosen, judges, by_hand, options).score
            seen = np.ascontiguousarray(held_out.features[:, : score.n_features])
            uncertainty = score(seen)
            shares = [
                gap_closed(held_out.losses[rows], held_out.detector_scores[rows], uncertainty[rows])
                for rows in groups.values()
            ]
            cells = " | ".join(f"{share:.1%}" for share in shares)
            print(f"| {len(chosen)} | {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
