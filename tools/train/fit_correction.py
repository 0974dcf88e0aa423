"""Fitting a correction of landmarks: ridge regression from HOG values to displacements, of low rank."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from facereject.faces.features.recipe import LandmarkCorrection, moved
from facereject.faces.geometry import FloatArray, fit_similarity
from facereject.faces.landmarks.point_set import PointSet
from facereject.faces.plugins import fingerprint_of
from facereject.faces.training.extract import Extractor, FaceTable
from facereject.faces.training.fit_compact import ridge_out_of_fold
from facereject.losses import landmark_nme

FloatTable = NDArray[np.float64]

# Chosen by leaving out one of HELEN, LFPW and AFW, and by a predictor that had not seen the faces: share of
# the fitted displacement that is applied, ridge per row in variances of a value, rank
_SHARE, _RIDGE, _RANK = 0.8, 10.0, 24

# displacements beyond, in face widths, and faces with a larger error, in percent, are lost ones
_LARGEST, _LOST = 0.05, 15.0

# weight of a face: one over its error, not below the first (percent), times the second for clean ones
_LEAST_ERROR, _CLEAN = 2.0, 2.0


def fit_correction(
    table: FaceTable, extractor: Extractor, fold: NDArray[np.int64]
) -> tuple[LandmarkCorrection, FaceTable]:
    """A correction learned from all rows of a table, and the table with its landmarks corrected.

    Parameters
    ----------
    table : FaceTable
        Made by ``extractor``, without a correction.
    extractor : Extractor
    fold : ndarray of shape (n,), int
        Landmarks of one fold are corrected by what was learned from the others.
    """
    fingerprint = fingerprint_of(extractor.predictor)
    if fingerprint is None:
        raise ValueError("extractor: a correction needs a predictor with a fingerprint")
    points, n_hog = extractor.points, extractor.hog.n_features
    goal = np.clip(_displacements(table, points), -_LARGEST, _LARGEST)
    weights = np.where(table.clean, _CLEAN, 1.0) / np.maximum(table.losses, _LEAST_ERROR)
    weights[table.losses > _LOST] = 0
    fitted, coef, offset = ridge_out_of_fold(table.features[:, :n_hog], goal, fold, weights, _RIDGE)
    middle = fitted.mean(axis=0)
    axes = np.linalg.svd(fitted - middle, full_matrices=False)[2][:_RANK]
    correction = LandmarkCorrection(
        points,
        fingerprint,
        (_SHARE * coef @ axes.T).astype(np.float32),
        axes.astype(np.float32),
        (_SHARE * (middle + (offset - middle) @ axes.T @ axes)).astype(np.float32),
    )
    return correction, _moved(table, _SHARE * (middle + (fitted - middle) @ axes.T @ axes), points)


def corrected(table: FaceTable, correction: LandmarkCorrection) -> FaceTable:
    """A table, made without a correction, of which no row was learned from, with its landmarks corrected."""
    hog = table.features[:, : correction.n_features]
    return _moved(table, hog @ correction.weights @ correction.axes + correction.offset, correction.points)


def _displacements(table: FaceTable, points: PointSet) -> FloatTable:
    """From predicted to true landmarks, in the frame of the mean shape: shape (n, 2 p)."""
    result = np.empty((len(table), 2 * points.n))
    for row, found, truth in zip(result, table.landmarks, table.truth, strict=True):
        frame = fit_similarity(points.mean_shape, found)[:, :2]
        row[:] = ((truth - found) @ np.linalg.pinv(frame).T).ravel()
    return result


def _moved(table: FaceTable, displacements: FloatArray, points: PointSet) -> FaceTable:
    pairs = zip(table.landmarks, displacements, strict=True)
    landmarks = np.array([moved(face, by, points) for face, by in pairs])
    losses = np.array(
        [
            float(landmark_nme(truth, face, points.normalizer))
            for truth, face in zip(table.truth.astype(np.float64), landmarks, strict=True)
        ]
    )
    return replace(table, landmarks=landmarks.astype(np.float32), losses=losses)
