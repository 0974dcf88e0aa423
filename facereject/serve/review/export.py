"""Taking the result away: lists, a table with the column `reviewed`, copies or links, a report page."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from facereject._files import display_name, replacing, suffix_of, write_whole
from facereject._html import HTML
from facereject._options import OptionError
from facereject._words import counted, percent
from facereject.faces.landmarks.mean_shape import MEAN_SHAPE
from facereject.outputs._folders import check_writable
from facereject.outputs.base import Media, RunInfo
from facereject.outputs.sorted_files import SortedFiles
from facereject.parallel.base import SerialEngine
from facereject.reports import pages
from facereject.serve.review.faces import ACCEPT, REJECT, UNDECIDED
from facereject.serve.review.images import NoImageError
from facereject.serve.review.session import Progress, Session
from facereject.sources.inputs import InputError
from facereject.tables.columns import HEAD
from facereject.tables.packing import PackedRow, frames_of, packed_numbers, points_of
from facereject.tables.reading import read_rows
from facereject.tables.reviewed import write_reviewed

_X, _ACCEPTED, _REASON = HEAD.index("x"), HEAD.index("accepted"), HEAD.index("reason")

# says that the folder is one of ours
_MARK = "export.json"

# crops of each kind in the report
_SAMPLES = 24

#: how the files may be taken along
FILES = ("none", "copy", "link")


class ExportError(ValueError):
    """Nothing can be exported; the message says why."""


def export(session: Session, progress: Progress, files: str) -> None:
    """Write accepted.txt, rejected.txt, the table and the report; and the files themselves, if asked for.

    Parameters
    ----------
    session : Session
    progress : Progress
        Kept up to date.
    files : {"none", "copy", "link"}

    Raises
    ------
    ExportError, OSError
    """
    folder = session.export_folder
    table = os.path.join(folder, f"faces{suffix_of(session.faces.table)}")
    names = ["accepted.txt", "rejected.txt", os.path.basename(table), "report.html"]
    _check(session, folder, names)
    os.makedirs(folder, exist_ok=True)
    faces, decisions = session.faces, session.decisions
    rule, values = decisions.rule(), decisions.values.copy()
    accepted = faces.accepted(rule, values)
    kept = faces.accepted_sources(accepted, session.frame_rule)
    progress.begin("lists and table", len(faces))
    record = {"made_by": "facereject review", "table": display_name(faces.table), "rule": rule._asdict()}
    write_whole(os.path.join(folder, _MARK), json.dumps(record, indent=1))
    for name, chosen in (("accepted", kept), ("rejected", ~kept)):
        listed = "".join(f"{_listed(session, s)}\n" for s in np.flatnonzero(chosen).tolist())
        write_whole(os.path.join(folder, f"{name}.txt"), listed)
    with replacing(table) as file:
        rows = _rows(session, accepted, values, progress)
        write_reviewed(file, suffix_of(table), rows, faces.n_points)
    progress.lines.append(
        f"{counted(int(kept.sum()), 'file')} accepted and {int((~kept).sum()):,} rejected, "
        f"{counted(int(accepted.sum()), 'face')} accepted and {int((~accepted).sum()):,} rejected: lists and "
        f"table in {display_name(folder)}"
    )
    if files != "none":
        progress.lines.extend(_sort(session, accepted, values, files, progress))
    progress.begin("report", 3 * _SAMPLES)
    write_whole(os.path.join(folder, "report.html"), _report(session, accepted, kept, values, progress))
    progress.lines.append(f"Report: {display_name(os.path.join(folder, 'report.html'))}")


def _check(session: Session, folder: str, names: list[str]) -> None:
    if not session.table_is_same:
        raise ExportError("The table has changed since this review began. Restart `facereject review`.")
    try:
        check_writable("--output", folder)
    except OptionError as error:
        raise ExportError(str(error).replace("`", "")) from None
    if os.path.isfile(os.path.join(folder, _MARK)):
        return
    for name in [*names, _MARK]:
        if os.path.lexists(os.path.join(folder, name)):
            raise ExportError(
                f"{display_name(os.path.join(folder, name))} was not made by facereject review and would be "
                "lost. Restart with another folder: --output FOLDER."
            )


def _listed(session: Session, source: int) -> str:
    """An input in a list; a name with a line end would be two, so it is escaped as in JSON."""
    name = session.faces.sources[source]
    return name if name.isprintable() else json.dumps(name)


def _rows(
    session: Session, accepted: NDArray[np.bool_], values: NDArray[np.uint8], progress: Progress
) -> Iterator[tuple[PackedRow, str]]:
    """The rows of the table with the decisions, and what was decided by hand."""
    faces, corrected = session.faces, session.decisions.landmarks
    number = 0
    for row in read_rows(faces.table):
        if row[_X] is None:
            yield row, ""
            continue
        changed = list(row)
        decided = int(values[faces.columns["crop"][number]])
        changed[_ACCEPTED] = bool(accepted[number])
        # a reason other than the uncertainty stays
        if accepted[number]:
            changed[_REASON] = ""
        elif row[_REASON] == "":
            changed[_REASON] = "uncertain"
        reviewed = {UNDECIDED: "", ACCEPT: "accepted", REJECT: "rejected"}[decided]
        if number in corrected:
            reviewed = "corrected"
            points = corrected[number]
            numbers = points_of(row)
            errors = np.full(len(points), np.nan) if numbers is None else numbers[2 * len(points) :] * np.nan
            changed[-1] = packed_numbers([*points.ravel("F").tolist(), *errors.tolist()])
        number += 1
        progress.done = number
        yield tuple(changed), reviewed


def _sort(
    session: Session, accepted: NDArray[np.bool_], values: NDArray[np.uint8], mode: str, progress: Progress
) -> Iterator[str]:
    """Copy or link the files by the rules of `facereject filter`."""
    folder, paths, failures = session.export_folder, {}, []
    for source in session.faces.sources:
        try:
            paths[source] = session.folder.path(source)
        except NoImageError as error:
            failures.append((source, str(error)))
    sorting = SortedFiles(os.path.join(folder, "accepted"), os.path.join(folder, "rejected"), mode)
    base = os.path.commonpath([os.path.dirname(path) for path in paths.values()]) if paths else folder
    info = RunInfo(tuple(paths.values()), base, "", session.frame_rule, False, 0, SerialEngine(), (sorting,))
    try:
        sorting.prepare(info)
    except (OptionError, InputError) as error:
        raise ExportError(str(error).replace("`", "")) from None
    progress.begin("copies" if mode == "copy" else "links", len(paths))
    rows = (row for row, _ in _rows(session, accepted, values, Progress()))
    frames = frames_of(rows, session.faces.n_points)
    for source, group in groupby(frames, key=lambda frame: frame.source):
        if source not in paths:
            continue
        listed = list(group)
        kind = "video" if np.isfinite(listed[0].time_s) else "image"
        sorting.begin(Media(paths[source], source, kind, MEAN_SHAPE, stamp=session.folder.stamp(source)))
        for frame in listed:
            sorting.write(frame)
        sorting.end()
        progress.done += 1
    placed = sorting.placed
    verb = "copied" if mode == "copy" else "linked"
    yield (
        f"{counted(placed.accepted, 'file')} {verb} to {display_name(sorting.accepted or '')}, "
        f"{placed.rejected:,} to {display_name(sorting.rejected or '')}; {placed.there:,} in place already"
    )
    n_failed = placed.failed + len(failures)
    if n_failed:
        shown = [f"{name} ({why.rstrip('.')})" for name, why in [*failures, *placed.failures][:3]]
        yield f"{counted(n_failed, 'file')} could not be placed: {', '.join(shown)}"


def _report(
    session: Session,
    accepted: NDArray[np.bool_],
    kept: NDArray[np.bool_],
    values: NDArray[np.uint8],
    progress: Progress,
) -> str:
    faces, rule = session.faces, session.decisions.rule()
    shown = np.unique(faces.columns["crop"])
    key, expected = faces.columns[rule.key], faces.columns["expected_error"]
    decided = values[shown] != UNDECIDED
    near = shown[np.argsort(np.abs(key[shown] - rule.limit), kind="stable")][:_SAMPLES]
    rng = np.random.default_rng(0)
    kinds = (
        ("Around the cut-off", near[np.argsort(key[near])]),
        ("Accepted, at random", _some(rng, shown[accepted[shown]])),
        ("Rejected, at random", _some(rng, shown[~accepted[shown]])),
        ("Decided by hand, at random", _some(rng, shown[decided])),
    )
    mean = float(np.nanmean(expected[accepted])) if np.isfinite(expected[accepted]).any() else None
    numbers = [
        (f"{int(kept.sum()):,}", f"of {counted(len(kept), 'file')} accepted"),
        (f"{int(accepted.sum()):,}", f"of {counted(len(accepted), 'face')} accepted"),
        ("–" if mean is None else f"{mean:.2f} %", "mean expected error of the accepted faces"),
        (f"{int(decided.sum()):,}", "decided by hand"),
    ]
    sections: list[HTML] = [
        pages.section(
            title,
            pages.faces([piece for n in chosen if (piece := _piece(session, int(n), accepted, progress))]),
        )
        for title, chosen in kinds
        if len(chosen)
    ]
    words = {"uncertainty": "uncertainty", "expected_error": "expected error", "error_high": "upper bound"}
    return pages.page(
        "What was kept",
        f"{display_name(os.path.basename(faces.table))}, accepted up to a limit of {rule.limit:.4g} of the "
        f"{words[rule.key]}, {percent(int(accepted.sum()), len(accepted))} of the faces",
        pages.tiles(numbers),
        *sections,
        footer="Expected errors are the model's. They hold for faces like those it was calibrated on.",
    )


def _some(rng: np.random.Generator, numbers: NDArray[Any]) -> NDArray[Any]:
    return np.sort(rng.permutation(numbers)[:_SAMPLES])


def _piece(session: Session, number: int, accepted: NDArray[np.bool_], progress: Progress) -> HTML | None:
    progress.done += 1
    pictures = session.pictures
    try:
        data = pictures.kept("crop", number) or pictures.make("crop", number)["crop", number]
    except NoImageError:
        return None
    image = np.asarray(PIL.Image.open(io.BytesIO(data)).convert("RGB"))
    faces = session.faces
    expected = faces.columns["expected_error"][number]
    lines = [f"expected error {expected:.1f} %"] if np.isfinite(expected) else []
    if session.decisions.values[number] != UNDECIDED:
        lines.append("decided by hand")
    name = os.path.basename(faces.sources[faces.columns["source"][number]])
    return pages.face(image, bool(accepted[number]), name, lines)
