"""Taking the result away: lists, a table with the column `reviewed`, copies or links, a report page."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from itertools import groupby

import numpy as np
import PIL.Image

from facereject._files import InputError, display_name, replacing, suffix_of, write_whole
from facereject._html import HTML
from facereject._options import OptionError
from facereject._words import counted, percent
from facereject.faces.landmarks.point_set import MEAN_SHAPE
from facereject.outputs._folders import check_writable
from facereject.outputs.base import Media, RunInfo
from facereject.outputs.sorted_files import SortedFiles
from facereject.parallel.base import SerialEngine
from facereject.reports import pages
from facereject.serve.review.faces import ACCEPT, REJECT, UNDECIDED
from facereject.serve.review.images import NoImageError
from facereject.serve.review.session import Progress, Session
from facereject.tables.columns import HEAD
from facereject.tables.packing import PackedRow, frames_of, packed_numbers
from facereject.tables.reading import read_rows
from facereject.tables.writing import write_rows

_X, _ACCEPTED, _REASON = HEAD.index("x"), HEAD.index("accepted"), HEAD.index("reason")

# says that the folder is one of ours
_MARK = "export.json"

# words of the column
_REVIEWED = {UNDECIDED: "", ACCEPT: "accepted", REJECT: "rejected"}

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
    if not session.table_is_same:
        raise ExportError("The table has changed since this review began. Restart `facereject review`.")
    _Export(session, progress).run(files)


class _Export:
    """The decisions at one moment, and what is written about them."""

    def __init__(self, session: Session, progress: Progress) -> None:
        self._session, self._progress, self._faces = session, progress, session.faces
        self._rule, self._values = session.decisions.rule(), session.decisions.values.copy()
        self._accepted = self._faces.accepted(self._rule, self._values)
        self._kept = self._faces.accepted_sources(self._accepted, session.frame_rule)

    def run(self, files: str) -> None:
        faces, accepted, kept = self._faces, self._accepted, self._kept
        table = f"faces{suffix_of(faces.table)}"
        self._check("accepted.txt", "rejected.txt", table, "report.html", _MARK)
        os.makedirs(self._session.export_folder, exist_ok=True)
        self._progress.begin("lists and table", len(faces))
        record = {"made_by": "facereject review", "table": display_name(faces.table)}
        write_whole(self._path(_MARK), json.dumps({**record, "rule": self._rule._asdict()}, indent=1))
        for name, chosen in (("accepted", kept), ("rejected", ~kept)):
            listed = (_listed(faces.sources[source]) for source in np.flatnonzero(chosen))
            write_whole(self._path(f"{name}.txt"), "".join(f"{name}\n" for name in listed))
        with replacing(self._path(table)) as file:
            rows = ((*row, word) for row, word in self._rows())
            write_rows(file, suffix_of(table), rows, faces.n_points, reviewed=True)
        self._say(
            f"{counted(int(kept.sum()), 'file')} accepted and {int((~kept).sum()):,} rejected, "
            f"{counted(int(accepted.sum()), 'face')} accepted and {int((~accepted).sum()):,} rejected: lists "
            f"and table in {display_name(self._session.export_folder)}"
        )
        if files != "none":
            self._sort(files)
        self._progress.begin("report", 3 * _SAMPLES)
        write_whole(self._path("report.html"), self._report())
        self._say(f"Report: {display_name(self._path('report.html'))}")

    def _path(self, name: str) -> str:
        return os.path.join(self._session.export_folder, name)

    def _say(self, line: str) -> None:
        self._progress.lines.append(line)

    def _check(self, *names: str) -> None:
        try:
            check_writable("--output", self._session.export_folder)
        except OptionError as error:
            raise ExportError(str(error).replace("`", "")) from None
        if os.path.isfile(self._path(_MARK)):
            return
        for path in filter(os.path.lexists, map(self._path, names)):
            raise ExportError(
                f"{display_name(path)} was not made by facereject review and would be lost. Restart with "
                "another folder: --output FOLDER."
            )

    def _rows(self) -> Iterator[tuple[PackedRow, str]]:
        """The rows of the table with the decisions, and what was decided by hand."""
        faces, corrected = self._faces, self._session.decisions.landmarks
        number = 0
        for row in read_rows(faces.table):
            if row[_X] is None:
                yield row, ""
                continue
            changed = list(row)
            changed[_ACCEPTED] = bool(self._accepted[number])
            # a reason other than the uncertainty stays
            if self._accepted[number]:
                changed[_REASON] = ""
            elif row[_REASON] == "":
                changed[_REASON] = "uncertain"
            reviewed = _REVIEWED[int(self._values[faces.columns["crop"][number]])]
            if number in corrected:
                reviewed = "corrected"
                points = corrected[number]
                # the expected errors were those of other landmarks
                unknown = np.full(len(points), np.nan)
                changed[-1] = packed_numbers([*points.ravel("F").tolist(), *unknown.tolist()])
            number += 1
            self._progress.done = number
            yield tuple(changed), reviewed

    def _sort(self, mode: str) -> None:
        """Copy or link the files by the rules of `facereject filter`."""
        session, paths, failures = self._session, {}, []
        for source in self._faces.sources:
            try:
                paths[source] = session.folder.path(source)
            except NoImageError as error:
                failures.append((source, str(error)))
        sorting = SortedFiles(self._path("accepted"), self._path("rejected"), mode)
        base = (
            os.path.commonpath([os.path.dirname(path) for path in paths.values()])
            if paths
            else self._path("")
        )
        info = RunInfo(
            tuple(paths.values()), base, "", session.frame_rule, False, 0, SerialEngine(), (sorting,)
        )
        try:
            sorting.prepare(info)
        except (OptionError, InputError) as error:
            raise ExportError(str(error).replace("`", "")) from None
        self._progress.begin("copies" if mode == "copy" else "links", len(self._faces))
        frames = frames_of((row for row, _ in self._rows()), self._faces.n_points)
        for source, group in groupby(frames, key=lambda frame: frame.source):
            if source not in paths:
                continue
            listed = list(group)
            kind = "video" if np.isfinite(listed[0].time_s) else "image"
            sorting.begin(Media(paths[source], source, kind, MEAN_SHAPE, stamp=session.folder.stamp(source)))
            for frame in listed:
                sorting.write(frame)
            sorting.end()
        placed = sorting.placed
        self._say(
            f"{counted(placed.accepted, 'file')} {'copied' if mode == 'copy' else 'linked'} to "
            f"{display_name(sorting.accepted or '')}, {placed.rejected:,} to "
            f"{display_name(sorting.rejected or '')}; {placed.there:,} in place already"
        )
        n_failed = placed.failed + len(failures)
        if n_failed:
            shown = [f"{name} ({why.rstrip('.')})" for name, why in [*failures, *placed.failures][:3]]
            self._say(f"{counted(n_failed, 'file')} could not be placed: {', '.join(shown)}")

    def _report(self) -> str:
        faces, rule, accepted, kept = self._faces, self._rule, self._accepted, self._kept
        shown = np.unique(faces.columns["crop"])
        key, expected = faces.columns[rule.key], faces.columns["expected_error"][accepted]
        decided = shown[self._values[shown] != UNDECIDED]
        near = shown[np.argsort(np.abs(key[shown] - rule.limit), kind="stable")][:_SAMPLES]
        rng = np.random.default_rng(0)
        samples = {"Around the cut-off": near[np.argsort(key[near])]}
        for title, numbers in (
            ("Accepted, at random", shown[accepted[shown]]),
            ("Rejected, at random", shown[~accepted[shown]]),
            ("Decided by hand, at random", decided),
        ):
            samples[title] = np.sort(rng.permutation(numbers)[:_SAMPLES])
        figures = [
            (f"{int(kept.sum()):,}", f"of {counted(len(kept), 'file')} accepted"),
            (f"{int(accepted.sum()):,}", f"of {counted(len(accepted), 'face')} accepted"),
            (f"{len(decided):,}", "decided by hand"),
        ]
        if np.isfinite(expected).any():
            mean = f"{np.nanmean(expected):.2f} %"
            figures.insert(2, (mean, "mean expected error of the accepted faces"))
        words = {"error_high": "upper bound"}.get(rule.key, rule.key.replace("_", " "))
        return pages.page(
            "What was kept",
            f"{display_name(os.path.basename(faces.table))}, accepted up to a limit of {rule.limit:.4g} of "
            f"the {words}, {percent(int(accepted.sum()), len(accepted))} of the faces",
            pages.tiles(figures),
            *(
                pages.section(title, pages.faces(filter(None, map(self._piece, numbers.tolist()))))
                for title, numbers in samples.items()
                if len(numbers)
            ),
            footer="Expected errors are the model's. They hold for faces like those it was calibrated on.",
        )

    def _piece(self, number: int) -> HTML | None:
        self._progress.done += 1
        faces, images = self._faces, self._session.images
        try:
            data = images.kept("crop", number) or images.make("crop", number)["crop", number]
        except NoImageError:
            return None
        expected = faces.columns["expected_error"][number]
        lines = [f"expected error {expected:.1f} %"] if np.isfinite(expected) else []
        if self._values[number] != UNDECIDED:
            lines.append("decided by hand")
        name = os.path.basename(faces.sources[faces.columns["source"][number]])
        image = np.asarray(PIL.Image.open(io.BytesIO(data)).convert("RGB"))
        return pages.face(image, bool(self._accepted[number]), name, lines)


def _listed(name: str) -> str:
    """An input in a list; a name with a line end would be two, so it is escaped as in JSON."""
    return name if name.isprintable() else json.dumps(name)
