"""The part of the card about clean faces of each data set: what `thorough` is better by on each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from facereject.faces import FaceDataset, FaceRejector
from facereject.faces.models.ranking import gap_closed
from facereject.faces.training.extract import FaceTable
from facereject.faces.training.fit_score import calibration_rows
from facereject.metrics import aurc

_RESAMPLES = 500


class Clean(NamedTuple):
    """Clean faces: errors, detector scores and uncertainties by a model that has not seen them."""

    losses: np.ndarray
    detector_scores: np.ndarray
    uncertainty: np.ndarray
    sample: np.ndarray

    def rows(self, rows: np.ndarray) -> Clean:
        """Some of them."""
        return Clean(*(values[rows] for values in self))

    @property
    def share(self) -> float:
        """Share of the gap between detector score and oracle that is closed."""
        return gap_closed(self.losses, self.detector_scores, self.uncertainty)

    @property
    def area(self) -> float:
        """AuRC in percent."""
        return aurc(self.losses, self.uncertainty)


def set_aside(table: FaceTable, uncertainty: np.ndarray) -> Clean:
    """Of a table of photographs that were set aside."""
    return Clean(table.losses, table.detector_scores, uncertainty, table.sample).rows(table.clean)


def out_of_fold(table: FaceTable, rejector: FaceRejector) -> Clean:
    """Of the table a model was fitted to: its calibration has what trees without the photograph say."""
    rows = calibration_rows(table, rejector.info["random_state"])
    rows = rows[table.detector_scores[rows] >= rejector.detector.threshold]
    known, ratio = rejector.calibration, rejector.info.get("unseen_ratio")
    # what calibrates are errors on unseen faces
    factor = 1.0 if ratio is None else np.interp(known.uncertainty, ratio["uncertainty"], ratio["ratio"])
    if len(known.losses) != len(rows) or not np.allclose(known.losses, factor * table.losses[rows]):
        raise ValueError("the model was not calibrated on this table")
    everything = Clean(table.losses[rows], table.detector_scores[rows], known.uncertainty, table.sample[rows])
    return everything.rows(table.clean[rows])


def data_set_table(
    parts: dict[str, tuple[FaceDataset, Clean, Clean]], group: dict[str, str], resamples: int = _RESAMPLES
) -> str:
    """By part and data set, `default` and `thorough` and their difference."""
    lines = [
        "### Clean faces by data set",
        "",
        "Share of the gap closed, and what `thorough` has more than `default`: points of the gap, and AuRC",
        "(landmarks and score together; lower is better), with 95 % bootstrap intervals over photographs.",
        "Groups set aside are small. So the fit part stands here too, judged by trees that have not seen the",
        "photograph (detector score at least 0): options were chosen on it, but not by data set.",
        "",
        "| photographs | data set | faces | `default` | `thorough` | more gap closed | change of AuRC |",
        "|---|---|---|---|---|---|---|",
    ]
    for part, (samples, plain, thorough) in parts.items():
        if not np.array_equal(plain.sample, thorough.sample):
            raise ValueError("both models must have judged the same faces")
        names = np.array([samples[int(i)].photo for i in plain.sample])
        source = np.array([name.split("/")[0] for name in names])
        photo = np.array([group[name] for name in names])
        for label in ["all", *sorted(set(source))]:
            chosen = np.flatnonzero((source == label) | (label == "all"))
            found, low, high = _more(plain.rows(chosen), thorough.rows(chosen), photo[chosen], resamples)
            cells = " | ".join(
                f"{found[k]:{form}} ({low[k]:{form}} to {high[k]:{form}})".replace("-", "−")
                for k, form in enumerate(("+.1f", "+.3f"))
            )
            shares = " | ".join(f"{each.rows(chosen).share:.0%}" for each in (plain, thorough))
            lines.append(f"| {part} | {label} | {len(chosen)} | {shares} | {cells} |")
    return "\n".join(lines) + "\n"


def _more(
    plain: Clean, thorough: Clean, photo: np.ndarray, resamples: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the second has more of: points of the gap closed, AuRC; then both ends of 95 % intervals."""

    def difference(rows: np.ndarray) -> tuple[float, float]:
        one, other = plain.rows(rows), thorough.rows(rows)
        return 100 * (other.share - one.share), other.area - one.area

    rng = np.random.default_rng(0)
    _, owner = np.unique(photo, return_inverse=True)
    rows_of = np.split(np.argsort(owner, kind="stable"), np.cumsum(np.bincount(owner))[:-1])
    draws = [
        difference(np.concatenate([rows_of[i] for i in rng.integers(len(rows_of), size=len(rows_of))]))
        for _ in range(resamples)
    ]
    return np.array(difference(np.arange(len(photo)))), *np.percentile(draws, [2.5, 97.5], axis=0)
