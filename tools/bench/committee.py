"""A second opinion in place of more runs: does disagreement between dlib and the mesh beat `thorough`?

    facereject models get mesh
    python tools/bench/committee.py ../shared/data/faces/300w [--photos 600] [--degradations 4]

Photographs that the shipped models may learn from, each as it is and in some degraded versions. dlib places
its landmarks; then either it runs twice more, on mirrored and turned pictures, as for `thorough`, or the mesh
looks once at the square that dlib's landmarks give it. The same kind of score is trained on what each adds:
linear columns and trees by the SELE risk, by cross-validation over photographs. Printed are the share of the
gap between detector score and oracle that each closes, its distance from `thorough` with 95 % bootstrap
intervals over photographs, the AuRC in percent, and the milliseconds of processor time that it takes besides
dlib's first run. Degradations are made in colour, which the mesh looks at.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
import time
from pathlib import Path

import cv2
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from train_default_model import ALPHA, FIT_SEED, set_aside

from facereject.faces import Extractor, FaceContext, FaceDataset, FaceDetector, LandmarkHOG, LandmarkPredictor
from facereject.faces.features.mirrored import MirroredRuns
from facereject.faces.geometry import fit_similarity, transform_points
from facereject.faces.landmarks.face_mesh import FaceMesh, Square, look
from facereject.faces.landmarks.point_set import POINTS_300W
from facereject.faces.models.ranking import gap_closed
from facereject.faces.training.compact import fit_compact
from facereject.faces.training.cross_validation import cross_fit, photo_folds
from facereject.faces.training.fit import fit_score
from facereject.faces.training.table import FaceTable
from facereject.faces.views import Views
from facereject.losses import landmark_nme
from facereject.metrics import aurc

CLIP, FOLDS, ROUNDS = 10.0, 4, 500

#: name -> landmarks that are judged, and values beside HOG and context; all from one row
CANDIDATES = {
    "default": ("dlib", ()),
    "thorough: mean of three runs": ("mean of runs", ("moved", "spread")),
    "committee: dlib's landmarks": ("dlib", ("apart", "shape apart")),
    "committee: mean of dlib and mesh": ("mean of both", ("apart", "shape apart")),
    "both, dlib's landmarks": ("dlib", ("apart", "moved")),
}


class Pictures:
    """Everything the candidates need of a picture, and what it cost."""

    def __init__(self) -> None:
        self.predictor, self.mesh = LandmarkPredictor(), FaceMesh("fitted")
        self.runs, self.hog, self.context = MirroredRuns(), LandmarkHOG(), FaceContext()
        self.seconds = {"mirrored": [], "mesh": []}

    def __call__(self, picture):
        view, box = picture.view, picture.box
        first = self.predictor(view.gray, box)
        start = time.process_time()
        together, values = self.runs(view.gray, first, self.predictor)
        half = time.process_time()
        second = self.mesh.mapped(look(view.rgb, square_of(first))[0])
        self.seconds["mirrored"].append(half - start)
        self.seconds["mesh"].append(time.process_time() - half)
        size = max(POINTS_300W.scale(first), 1.0)
        fitted = transform_points(fit_similarity(second, first), second)
        moved, spread = np.split(values, 2)
        more = {
            "moved": moved,
            "spread": spread,
            "apart": np.log(1e-3 + np.linalg.norm(second - first, axis=1) / size),
            "shape apart": np.log(1e-3 + np.linalg.norm(fitted - first, axis=1) / size),
        }
        found = {"dlib": first, "mean of runs": together, "mean of both": (first + second) / 2}
        return (
            picture,
            more,
            {name: (points, *self._seen(view, box, points)) for name, points in found.items()},
        )

    def _seen(self, view, box, points):
        chip, placed = self.hog.chip(view.gray, points)
        return self.hog.describe(chip, placed), self.context(view.size, box, points, chip)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--photos", type=int, default=600)
    parser.add_argument("--degradations", type=int, default=4)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    fit, _, group, _ = set_aside(FaceDataset.load(options.data))
    pictures = Pictures()
    # with more degradations than are used, so that none of them only moves the box
    extractor = Extractor(
        pictures.predictor,
        FaceDetector(threshold=-1.0),
        pictures.hog,
        None,
        options.degradations + 1,
        FIT_SEED,
        pictures.context,
    )
    rows = []
    for index in np.linspace(0, len(fit) - 1, min(options.photos, len(fit))).astype(int):
        sample = fit[int(index)]
        image = Views(sample.load()).rgb
        for variant in range(options.degradations + 1):
            picture = extractor.picture(image, sample.landmarks, int(index), variant)
            if picture is not None:
                rows.append((int(index), variant, *pictures(picture)))
    photos = [group[sample.photo] for sample in fit]
    judged = {name: out_of_fold(table_of(rows, *parts), photos) for name, parts in CANDIDATES.items()}
    report(judged, photos, pictures.seconds)


def square_of(landmarks):
    """Where the mesh looks: the box that fits the landmarks, level with them."""
    frame = fit_similarity(POINTS_300W.mean_shape, landmarks)
    return Square.of_box(POINTS_300W.box_of(landmarks))._replace(angle=math.atan2(frame[1, 0], frame[0, 0]))


def table_of(rows, landmarks, names):
    """The table of one candidate."""
    features, losses, points, truths = [], [], [], []
    for _, _, picture, more, seen in rows:
        found, hog, context = seen[landmarks]
        features.append(np.concatenate([hog, *(more[name] for name in names), context]))
        losses.append(float(landmark_nme(picture.truth, found)))
        points.append(found)
        truths.append(picture.truth)
    return FaceTable(
        features=np.array(features, dtype=np.float32),
        losses=np.array(losses),
        detector_scores=np.array([picture.score for _, _, picture, _, _ in rows]),
        sample=np.array([index for index, *_ in rows]),
        variant=np.array([variant for _, variant, *_ in rows]),
        kinds=tuple(picture.kind for _, _, picture, _, _ in rows),
        landmarks=np.array(points, dtype=np.float32),
        truth=np.array(truths, dtype=np.float32),
        hidden=np.array([picture.hidden for _, _, picture, _, _ in rows]),
        missed=np.zeros(2, dtype=np.int64),
        failed=np.zeros(2, dtype=np.int64),
        problems=(),
        failures=(),
    )


def out_of_fold(table, photos):
    """A table and the uncertainty of each of its rows by a score that has not seen the photograph."""
    n_hog = LandmarkHOG().n_features
    hog = dataclasses.replace(table, features=np.ascontiguousarray(table.features[:, :n_hog]))
    linear = cross_fit(hog, photos, "sele", ALPHA, clip=CLIP, folds=FOLDS, random_state=FIT_SEED)
    names = np.array([photos[i] for i in table.sample])
    fold = photo_folds(names.tolist(), FOLDS, FIT_SEED)
    score = fit_score(hog, "sele", ALPHA, CLIP)
    fitted = fit_compact(table, POINTS_300W, fold, names, (score, linear.uncertainty), CLIP)
    return table, fitted.uncertainty, fold


def report(judged, photos, seconds):
    """Prints the two tables."""
    base = "thorough: mean of three runs"
    for what in ("clean", "degraded"):
        table = judged[base][0]
        rows = table.clean if what == "clean" else ~table.clean
        print(f"\n{what}: {rows.sum():,} faces")
        print("| score | mean error | AuRC | gap closed | less that of thorough |\n|---|---|---|---|---|")
        for name, (mine, uncertainty, fold) in judged.items():
            low, high = interval(judged[name], judged[base], rows, photos)
            share = closed(mine, uncertainty, fold, rows)
            over = share - closed(*judged[base], rows)
            area = np.mean([aurc(mine.losses[r], uncertainty[r]) for r in parts(fold, rows)])
            print(
                f"| {name} | {mine.losses[rows].mean():.2f} | {area:.2f} | {share:.1%} | "
                f"{100 * over:+.1f} ({100 * low:+.1f} to {100 * high:+.1f}) |"
            )
    cost = {name: 1e3 * float(np.median(values)) for name, values in seconds.items()}
    print(f"\nmore than dlib's first run: two mirrored runs {cost['mirrored']:.1f} ms, ", end="")
    print(f"one look of the mesh {cost['mesh']:.1f} ms: {cost['mesh'] / cost['mirrored']:.2f} of it")


def parts(fold, rows):
    return [rows & (fold == k) for k in np.unique(fold)]


def closed(table, uncertainty, fold, rows):
    """Share of the gap, in the mean over the folds, as scores of different fits need not have one scale."""
    return float(
        np.mean(
            [gap_closed(table.losses[r], table.detector_scores[r], uncertainty[r]) for r in parts(fold, rows)]
        )
    )


def interval(mine, other, rows, photos):
    """Bounds of the distance between two shares, the photographs of every fold drawn again."""
    table, _, fold = mine
    names = np.array([photos[i] for i in table.sample])
    members = [
        [np.flatnonzero(part & (names == name)) for name in np.unique(names[part])]
        for part in parts(fold, rows)
    ]
    rng = np.random.default_rng(FIT_SEED)
    values = []
    for _ in range(ROUNDS):
        drawn = [np.concatenate([m[k] for k in rng.integers(len(m), size=len(m))]) for m in members]
        shares = [
            np.mean([gap_closed(t.losses[r], t.detector_scores[r], u[r]) for r in drawn])
            for t, u, _ in (mine, other)
        ]
        values.append(shares[0] - shares[1])
    return np.percentile(values, [2.5, 97.5])


if __name__ == "__main__":
    main()
