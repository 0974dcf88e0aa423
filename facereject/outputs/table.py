"""The table, one row per face in a file or on a stream; and one line of JSON per frame."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass, field
from typing import Any, BinaryIO, ClassVar

from facereject._options import OptionError
from facereject.faces.face import FaceFrame
from facereject.faces.landmarks.point_set import N_LANDMARKS
from facereject.outputs.base import Media, Output, RunInfo
from facereject.tables.columns import check_columns
from facereject.tables.errors import TableError
from facereject.tables.packing import rows_of
from facereject.tables.writing import TextFormat, check_table_path, encode_frame, files_of, text_format


@dataclass
class Table(Output):
    """A table with a row per face, or a row that says why an input has none.

    A file is written through the store of the run: while the run lasts it is called ``<target>.partial``, and
    it can be continued with ``Running(resume=True)``.

    Parameters
    ----------
    target : path or binary stream
        A path that ends in ``.csv``, ``.jsonl``, ``.parquet`` or ``.sqlite``; a stream gets rows as they
        come.
    stream_format : {"csv", "jsonl"}
        What a stream gets.
    columns : str
        ``"all"``, ``"short"`` (all but the landmarks), or names of columns and groups separated by commas:
        ``"accepted,expected_error,box"``. Groups: ``box``, ``pose``, ``landmarks``, ``landmark_errors``.

    See Also
    --------
    facereject.score_files : Takes it among its outputs.

    Examples
    --------
    >>> from facereject import score_files
    >>> from facereject.outputs import Table
    >>> score_files("photos", Table("faces.parquet"))  # doctest: +SKIP
    >>> score_files("photos", Table("faces.csv", columns="short"))  # doctest: +SKIP
    """

    target: Any
    stream_format: str = "csv"
    columns: str = "all"

    place: ClassVar[str] = "run"

    def __post_init__(self) -> None:
        self._format: TextFormat | None = None
        if self.stream_format not in ("csv", "jsonl"):
            raise OptionError(f"`stream_format` must be csv or jsonl; got {self.stream_format}")
        if isinstance(self.target, io.TextIOBase):
            raise OptionError("`output` is a stream of text; open it in binary mode, or pass its .buffer")
        if self.path is None and not hasattr(self.target, "write"):
            kind = type(self.target).__name__
            raise OptionError(f"`outputs` must be paths, binary streams or outputs; got {kind}")

    @property
    def path(self) -> str | None:
        """The file; None for a stream."""
        return os.fspath(self.target) if isinstance(self.target, str | os.PathLike) else None

    def prepare(self, run: RunInfo) -> None:
        """Check that the table can be written."""
        check_columns(self.columns)
        if self.path is not None:
            try:
                check_table_path(self.path, overwrite=run.overwrite)
            except TableError as error:
                raise OptionError(f"`output` {error}") from None

    def files(self) -> list[str]:
        """The table, its unfinished form and its record."""
        return [] if self.path is None else [*files_of(self.path)]

    def begin(self, media: Media) -> None:
        """Write the header of the stream before the first input."""
        if self._format is None:
            self._format = text_format(f".{self.stream_format}", len(media.mean_shape), self.columns)
            self._put(self._format.header)

    def write(self, frame: FaceFrame) -> None:
        """Append the rows of a frame to the stream."""
        if self._format is None:
            raise RuntimeError("begin must be called before write")
        self._put(self._format.encode(rows_of(frame)))

    def _put(self, data: bytes) -> None:
        stream: BinaryIO = self.target
        try:
            stream.write(data)
            stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise TableError(f"the output stream cannot be written ({error.strerror or error})") from error

    def report(self) -> list[str]:
        """Where the table is."""
        return [] if self.path is None else [f"Table: {self.path}"]


@dataclass
class JSONLines(Output):
    """Write one line of JSON per frame as soon as it is scored: the decision, and columns of every face.

    Parameters
    ----------
    stream : binary stream
    columns : str
        As in `Table`.

    See Also
    --------
    Table : A row per face.

    Examples
    --------
    >>> import io
    >>> from facereject.faces.face import NO_IMAGE, FaceFrame
    >>> from facereject.outputs.table import JSONLines
    >>> output = JSONLines(io.BytesIO())
    >>> output.write(FaceFrame(0, 0.0, NO_IMAGE, [], source="camera 0"))
    >>> output.stream.getvalue()[:37]
    b'{"source": "camera 0", "frame": 0, "t'
    """

    stream: BinaryIO
    columns: str = "all"
    _rule: str = field(default="all", init=False, repr=False)
    _n_points: int = field(default=N_LANDMARKS, init=False, repr=False)

    def prepare(self, run: RunInfo) -> None:
        """Take the rule for frames with several faces."""
        check_columns(self.columns)
        self._rule = run.frame_rule

    def begin(self, media: Media) -> None:
        """Take the number of landmarks."""
        self._n_points = len(media.mean_shape)

    def write(self, frame: FaceFrame) -> None:
        """Write the line of a frame."""
        self.stream.write(encode_frame(frame, self._rule, self._n_points, self.columns))
        self.stream.flush()
