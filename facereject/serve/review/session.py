"""A review that is open: the faces, where their images are, and everything the user has decided."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject._files import display_name, stamp_of
from facereject.pipeline.store import recorded_stamps
from facereject.serve.review.annotations import Annotations
from facereject.serve.review.decisions import Decisions
from facereject.serve.review.faces import UNDECIDED, ReviewFaces, packed_columns
from facereject.serve.review.fit import LEAST_DECISIONS, FittedThreshold, fit_threshold
from facereject.serve.review.images import FaceImages, Folder, view_of


class ReviewError(ValueError):
    """A review cannot be opened; the message names what is wrong and what to do."""


@dataclass
class Progress:
    """How far an export or a search is, for the page.

    Attributes
    ----------
    running : bool
    step : str
        What is being done.
    done, total : int
    error : str
        Why it ended early; empty if it did not.
    lines : list of str
        What was written, in sentences.
    groups : list of list of int
        Near duplicates.
    """

    running: bool = False
    step: str = ""
    done: int = 0
    total: int = 0
    error: str = ""
    lines: list[str] = field(default_factory=list)
    groups: list[list[int]] = field(default_factory=list)

    def begin(self, step: str, total: int) -> None:
        """The next thing is done now."""
        self.step, self.done, self.total = step, 0, total


@dataclass
class Session:
    """A review.

    Parameters
    ----------
    faces : ReviewFaces
    folder : Folder
    decisions : Decisions
    annotations : str or None
        Folder for corrected landmarks; None is beside the photos.
    export_folder : str
        Where an export goes.
    frame_rule : {"all", "any", "largest"}
    queue : list of int
        The faces to annotate, for that page.
    """

    faces: ReviewFaces
    folder: Folder
    decisions: Decisions
    annotations: str | None
    export_folder: str
    frame_rule: str = "all"
    queue: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.images = FaceImages(self.faces, self.folder)
        self.annotated = Annotations(self.annotations, self.faces, self.folder, self.images, self.decisions)
        self._stamp = stamp_of(self.faces.table)
        # addresses of crops differ between tables, as browsers keep them
        self.version = hashlib.sha256(f"{self.faces.table}\0{self._stamp}".encode()).hexdigest()[:16]
        self._described, self._arrays = packed_columns(self.faces.columns)

    @property
    def table_is_same(self) -> bool:
        """Whether the table is still the one that was read."""
        return stamp_of(self.faces.table) == self._stamp

    def packed(self) -> bytes:
        """All columns as bytes."""
        return b"".join(values.tobytes() for values in self._arrays)

    def describe(self) -> dict[str, Any]:
        """What the page needs to know besides the columns."""
        faces, decisions = self.faces, self.decisions
        decided = np.flatnonzero(decisions.values != UNDECIDED)
        return {
            "name": display_name(os.path.basename(faces.table)),
            "version": self.version,
            "n": len(faces),
            "columns": self._described,
            "sources": faces.sources,
            "empty": [[int(s), int(faces.empty_frames[s])] for s in np.flatnonzero(faces.empty_frames)],
            "reasons": faces.reasons,
            "causes": faces.causes,
            "keys": faces.keys,
            "rule": decisions.rule()._asdict(),
            "decided": [[int(n), int(decisions.values[n])] for n in decided],
            "corrected": sorted(decisions.landmarks),
            "revision": decisions.revision,
            "unmatched": decisions.unmatched,
            "frame_rule": self.frame_rule,
            "export": display_name(self.export_folder),
            "annotations": "beside the photos"
            if self.annotations is None
            else display_name(self.annotations),
            "least_decisions": LEAST_DECISIONS,
            "queue": self.queue,
            "names": [faces.id_of(number).source for number in self.queue],
        }

    def face(self, number: int) -> dict[str, Any]:
        """What the large view needs to know of a face."""
        faces, view = self.faces, view_of(self.faces.box(number))
        predicted = faces.landmarks(number)
        corrected = self.decisions.landmarks.get(number)
        errors = faces.landmark_errors(number)
        file, _ = self.decisions.written(number)
        return {
            "view": view._asdict(),
            "predicted": None if predicted is None else predicted.tolist(),
            "corrected": None if corrected is None else corrected.tolist(),
            "errors": None if errors is None else np.where(np.isfinite(errors), errors, -1).tolist(),
            "file": display_name(file),
        }

    def close(self) -> None:
        """Close the file of the decisions."""
        self.decisions.close()

    def fit(self) -> FittedThreshold | None:
        """A threshold fitted to the decisions; None if they are too few or all alike."""
        values, columns = self.decisions.values, self.faces.columns
        chosen = np.flatnonzero((values != UNDECIDED) & np.isfinite(columns["uncertainty"]))
        accept: NDArray[np.bool_] = values[chosen] == 1
        if len(chosen) < LEAST_DECISIONS or accept.all() or not accept.any():
            return None
        return fit_threshold(columns["uncertainty"][chosen], accept, columns["source"][chosen])


def open_session(
    faces: ReviewFaces,
    *,
    images: str | None = None,
    decisions: str | None = None,
    annotations: str | None = None,
    beside: bool = False,
    export_folder: str | None = None,
    frame_rule: str = "all",
) -> Session:
    """Open a review of a table; what is not given is named after the table.

    Raises
    ------
    ReviewError
        There is no face, or no image can be found.
    TableError
        Decisions cannot be saved.
    """
    table = faces.table
    stem = os.path.splitext(table)[0]
    if not len(faces):
        raise ReviewError(f"{display_name(table)}: there is no face in this table")
    folder = Folder(faces.sources, images, table, recorded_stamps(table))
    if not any(map(folder.has, faces.sources)):
        where = display_name(images) if images else "the current folder or that of the table"
        raise ReviewError(
            f"{display_name(table)}: none of its {len(faces.sources):,} files can be opened in {where} "
            f"(the first is {faces.sources[0]}); name the folder that holds them with --images"
        )
    target = None if beside else annotations or f"{stem}-annotated"
    saved = Decisions(decisions or f"{table}.review", faces)
    return Session(faces, folder, saved, target, export_folder or f"{stem}-reviewed", frame_rule)
