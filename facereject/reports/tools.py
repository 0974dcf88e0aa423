"""Several tools on the same annotated faces: which one for these images, and which of its faces."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.figure
import numpy as np
from numpy.typing import NDArray

from facereject import __version__
from facereject.faces import FaceDataset, FaceRejector, FaceSample, evaluate_face_rejector
from facereject.faces.geometry import disagreement
from facereject.faces.landmarks.point_set import N_LANDMARKS
from facereject.faces.models.card import error_unit
from facereject.faces.regions import REGIONS
from facereject.faces.training.fit_compact import point_errors
from facereject.metrics import aurc, risk_coverage_curve
from facereject.parallel import RunProgress
from facereject.plotting._style import PALETTE, tidy
from facereject.reports import pages
from facereject.reports.evaluation import csv_text, report_files, write_texts
from facereject.reports.evaluation_page import figure_and_axes

FloatArray = NDArray[np.float64]

#: the files of a comparison
FILES = ("index.html", "tools.csv", "points.csv", "faces.csv", "summary.json")

_RESAMPLES = 1000
_FAILED = 10.0

# title and format of the columns of the table
_COLUMNS = {
    "tool": "{tool}",
    "faces": "{faces_found:,}",
    "mean error (%)": "{mean_error:.2f}",
    "its 95 % interval": "{mean_error_low:.2f} to {mean_error_high:.2f}",
    "median": "{median_error:.2f}",
    "above 10 %": "{above_10_percent:.1%}",
    "AuRC (%)": "{aurc:.2f}",
    "AuRC, 95 % interval": "{aurc_low:.2f} to {aurc_high:.2f}",
    "share of random to oracle": "{share_of_random_to_oracle:.0%}",
    "share by distance to the other tools": "{share_by_disagreement:.0%}",
    "expected over true": "{expected_over_true:.2f}",
    "accepted": "{accepted:.0%}",
    "their error (%)": "{accepted_error:.2f}",
}


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class ToolResult:
    """One tool on the faces that all tools have.

    Attributes
    ----------
    name : str
    found : int
        Annotated faces that it has landmarks on, also where others have none.
    losses, uncertainty, expected : ndarray of shape (n,)
    accepted : ndarray of shape (n,), bool
    disagreement : ndarray of shape (n,)
        Mean distance to the landmarks of the other tools, normalised as errors are.
    points : ndarray of shape (n, p)
        Error of every point, in percent.
    photos : ndarray of shape (n,)
        Number of the photo of every face.
    """

    name: str
    found: int
    losses: FloatArray
    uncertainty: FloatArray
    expected: FloatArray
    accepted: NDArray[np.bool_]
    disagreement: FloatArray
    points: FloatArray
    photos: NDArray[np.int64]

    @functools.cached_property
    def numbers(self) -> dict[str, Any]:
        """What the table shows: values, and 95 % intervals over photos where there is one."""
        losses, uncertainty, accepted = self.losses, self.uncertainty, self.accepted
        low, high = _interval(lambda rows: float(losses[rows].mean()), self.photos)
        aurc_low, aurc_high = _interval(lambda rows: aurc(losses[rows], uncertainty[rows]), self.photos)
        regions = REGIONS if self.points.shape[1] == N_LANDMARKS else {}
        return {
            "tool": self.name,
            "faces_found": self.found,
            "faces_compared": len(losses),
            "mean_error": float(losses.mean()),
            "mean_error_low": low,
            "mean_error_high": high,
            "median_error": float(np.median(losses)),
            "above_10_percent": float((losses > _FAILED).mean()),
            "aurc": aurc(losses, uncertainty),
            "aurc_low": aurc_low,
            "aurc_high": aurc_high,
            "share_of_random_to_oracle": _share(losses, uncertainty),
            "share_by_disagreement": _share(losses, self.disagreement),
            "expected_over_true": float(self.expected.mean() / losses.mean()),
            "accepted": float(accepted.mean()),
            "accepted_error": float(losses[accepted].mean()) if accepted.any() else None,
            **{f"error_{name}": float(self.points[:, list(i)].mean()) for name, i in regions.items()},
        }

    def cell(self, column: str) -> str:
        """What stands in a column of the table."""
        try:
            return _COLUMNS[column].format(**self.numbers)
        except TypeError:
            # unknown
            return "-"


def compare_tools(
    rejector: FaceRejector,
    tools: Mapping[str, FaceDataset],
    *,
    workers: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Callable[[RunProgress], None] | None = None,
) -> list[ToolResult]:
    """Score the predictions of several tools on the faces that all of them have.

    Parameters
    ----------
    rejector : FaceRejector
    tools : mapping of str to FaceDataset
        Annotated faces with predictions, by name of the tool.
    workers, cache, progress
        As in `facereject.faces.evaluate_face_rejector`.

    Raises
    ------
    ValueError
        No face has landmarks of all tools.
    """
    keyed = {name: {_key(sample): sample for sample in samples} for name, samples in tools.items()}
    common = [key for key in next(iter(keyed.values())) if all(key in each for each in keyed.values())]
    if not common:
        raise ValueError("no annotated face has landmarks of all tools")
    results = []
    for name, samples in keyed.items():
        others = [each for other, each in keyed.items() if other != name]
        chosen = FaceDataset([samples[key] for key in common])
        result = evaluate_face_rejector(
            rejector, chosen, degradations=0, workers=workers, cache=cache, progress=progress
        )
        table, uncertainty = result.table, result.uncertainty
        photos = np.unique([chosen[i].photo for i in table.sample], return_inverse=True)[1]
        apart = [
            disagreement(sample.predicted, (each[_key(sample)].predicted for each in others))
            / rejector.points.scale(sample.predicted)
            for sample in (chosen[i] for i in table.sample)
        ]
        results.append(
            ToolResult(
                name,
                len(samples),
                table.losses,
                uncertainty,
                np.asarray(rejector.calibration.expected_error(uncertainty)),
                np.asarray(rejector.decide(uncertainty)),
                np.array(apart),
                point_errors(table, rejector.points),
                photos.astype(np.int64),
            )
        )
    return results


def _key(sample: FaceSample) -> tuple[str, int, bytes]:
    return str(sample.image_path), sample.frame, sample.landmarks.tobytes()


def _share(losses: FloatArray, uncertainty: FloatArray) -> float | None:
    """Where the AuRC lies between a random order (0) and that of the losses themselves (1)."""
    gap = float(losses.mean() - aurc(losses, losses))
    return float((losses.mean() - aurc(losses, uncertainty)) / gap) if gap > 0 else None


def _interval(value: Callable[[NDArray[np.int64]], float], photos: NDArray[np.int64]) -> list[float]:
    """95 % bootstrap interval over photos."""
    rng = np.random.default_rng(0)
    rows = [np.flatnonzero(photos == k) for k in range(photos.max() + 1)]
    drawn = (rng.integers(len(rows), size=len(rows)) for _ in range(_RESAMPLES))
    values = [value(np.concatenate([rows[k] for k in each])) for each in drawn]
    return [float(end) for end in np.percentile(values, [2.5, 97.5])]


def write_comparison(
    folder: str | os.PathLike[str],
    rejector: FaceRejector,
    results: Sequence[ToolResult],
    *,
    model: str,
    data: str,
    notes: Sequence[str] = (),
    overwrite: bool = False,
) -> Path:
    """Write the files of `FILES` into a folder, all or none, and return the path of the page."""
    numbers = [result.numbers for result in results]
    points = [
        {"point": i, **{result.name: result.points[:, i].mean() for result in results}}
        for i in range(results[0].points.shape[1])
    ]
    faces = [
        {
            "tool": result.name,
            "face": k,
            "error": result.losses[k],
            "uncertainty": f"{result.uncertainty[k]:.6g}",
            "expected_error": result.expected[k],
            "accepted": bool(result.accepted[k]),
        }
        for result in results
        for k in range(len(result.losses))
    ]
    texts = {
        "index.html": _page(rejector, results, model, data, notes),
        "tools.csv": _csv(numbers),
        "points.csv": _csv(points),
        "faces.csv": _csv(faces),
        "summary.json": json.dumps({"model": model, "data": data, "tools": numbers}, indent=2) + "\n",
    }
    with report_files(folder, FILES, overwrite=overwrite) as files:
        write_texts(files, texts)
    return Path(folder) / "index.html"


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    return csv_text({k: f"{v:.4f}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)


def _page(
    rejector: FaceRejector, results: Sequence[ToolResult], model: str, data: str, notes: Sequence[str]
) -> str:
    numbers = [result.numbers for result in results]
    best = min(numbers, key=lambda row: row["mean_error"])
    ranked = min(numbers, key=lambda row: row["aurc"])
    rows = [[result.cell(column) for column in _COLUMNS] for result in results]
    better = [
        r["tool"]
        for r in numbers
        if (r["share_by_disagreement"] or 0) > (r["share_of_random_to_oracle"] or 0)
    ]
    advice = (
        f"The faces of {', '.join(better)} are ranked better by the distance to the other tools than by this "
        "model. `facereject train` with several --predictions makes a model that uses both."
    )
    pieces = [pages.note(f"{text[:1].upper()}{text[1:]}.") for text in notes]
    pieces.append(
        pages.section(
            "Which tool, and which of its faces",
            pages.paragraph(
                f"On the {numbers[0]['faces_compared']:,} faces that all tools have, {best['tool']} has the "
                f"lowest mean error, {best['mean_error']:.2f} %. If faces are rejected by this model, "
                f"{ranked['tool']} has the lowest error over all coverages."
            ),
            pages.charts(
                pages.chart(
                    _curves(results), "tools", "Mean error of the accepted faces, by the share accepted."
                )
            ),
            pages.table(list(_COLUMNS), rows),
            *([pages.note(advice)] if better else []),
            pages.paragraph(
                "AuRC: mean error over all coverages, lower is better. Intervals: bootstrap over photos. "
                "Expected over true: 1 is right; `facereject train --predictions` or `facereject calibrate "
                "--predictions` makes it so.",
                soft=True,
            ),
        )
    )
    if results[0].points.shape[1] == N_LANDMARKS:
        body = [[row["tool"], *(f"{row[f'error_{name}']:.2f}" for name in REGIONS)] for row in numbers]
        pieces.append(pages.section("Mean error by region (%)", pages.table(["tool", *REGIONS], body)))
    points = [
        [str(i), *(f"{result.points[:, i].mean():.2f}" for result in results)]
        for i in range(results[0].points.shape[1])
    ]
    pieces.append(
        pages.section("Mean error by point (%)", pages.table(["point", *(r.name for r in results)], points))
    )
    pieces.append(pages.links("The same as files:", [(name, name) for name in FILES[1:]]))
    lead = f"Scored by {model}, on {data}. Errors in {error_unit(rejector)}."
    return pages.page("Which tracker for these images?", lead, *pieces, footer=f"facereject {__version__}")


def _curves(results: Sequence[ToolResult]) -> matplotlib.figure.Figure:
    figure, axes = figure_and_axes()
    for k, result in enumerate(results):
        curve = risk_coverage_curve(result.losses, result.uncertainty)
        style = "-" if k < len(PALETTE) else "--"
        axes.plot(curve.coverage, curve.risk, style, color=PALETTE[k % len(PALETTE)], label=result.name)
    axes.set(xlim=(0, 1), xlabel="accepted share of the faces", ylabel="mean error of the accepted (%)")
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper left", frameon=False, fontsize="small")
    tidy(axes, grid="both")
    return figure
