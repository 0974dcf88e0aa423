"""How the scores rank the landmarks of other trackers on AFW, when no photograph of AFW was trained on."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from facereject.faces import FaceDataset
from facereject.faces.training.cross_validation import cross_fit, photo_folds
from facereject.faces.training.fit_compact import LinearFit, fit_compact, linear_on_clean
from facereject.faces.training.fit_score import fit_score
from facereject.faces.views import Views
from facereject.losses import landmark_nme
from facereject.metrics import aurc

# as in tools.train.default_model
_ALPHA, _CLIP, _FOLDS = 1.0, 10.0, 4


def rank_other_trackers(data, trackers, table, extractor, fit, group, linear):
    """Tracker -> share of the way from random to oracle, by the shipped linear score, by a linear score and
    by a compact score that have not seen AFW.
    """
    kept = [i for i, sample in enumerate(fit) if not sample.photo.startswith("afw")]
    place = {old: new for new, old in enumerate(kept)}
    rows = np.isin(table.sample, kept)
    part = table.rows(rows)
    part = dataclasses.replace(part, sample=np.array([place[int(i)] for i in part.sample]))
    photos = [group[fit[i].photo] for i in kept]
    n_hog = extractor.hog.n_features
    hog_only = dataclasses.replace(part, features=np.ascontiguousarray(part.features[:, :n_hog]))
    owners = np.array([photos[i] for i in part.sample])
    fold = photo_folds(owners.tolist(), _FOLDS, 0)
    held_out = cross_fit(hog_only, photos, "sele", _ALPHA, clip=_CLIP, folds=_FOLDS, random_state=0)
    plain = fit_score(hog_only, "sele", _ALPHA, _CLIP)
    clean = linear_on_clean(hog_only, fold, _ALPHA, _CLIP)
    first = LinearFit(plain, held_out.uncertainty)
    compact = fit_compact(part, extractor.features, fold, owners, first, _CLIP, clean).model
    faces = {f"afw/{sample.image_path.stem}": sample for sample in FaceDataset.load(Path(data, "afw"))}
    result = {}
    with np.load(trackers, allow_pickle=False) as stored:
        names = [str(name) for name in stored["names"]]
        views = {name: Views(faces[name].load()) for name in names}
        for tracker in sorted(key.removesuffix(".landmarks") for key in stored if key.endswith(".landmarks")):
            found = stored[f"{tracker}.landmarks"]
            features = np.array(
                [
                    extractor.features(
                        views[name], extractor.points.box_of(points), points, extractor.predictor
                    ).values
                    for name, points in zip(names, found, strict=True)
                ]
            )
            losses = np.array(
                [
                    landmark_nme(faces[name].landmarks, points)
                    for name, points in zip(names, found, strict=True)
                ]
            )
            scores = (linear.rejector.score, plain, compact)
            result[tracker] = [
                _share(losses, score(np.ascontiguousarray(features[:, : score.n_features])))
                for score in scores
            ]
    return result


def _share(losses, uncertainty):
    """How far an order is on the way from a random one to that by the losses."""
    middle = losses.mean()
    return float((middle - aurc(losses, uncertainty)) / (middle - aurc(losses, losses)))
