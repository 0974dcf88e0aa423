"""One line of JSON per frame, for other programs that follow a camera."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import BinaryIO

from facereject.faces.face import FaceFrame
from facereject.faces.landmarks.point_set import N_LANDMARKS
from facereject.outputs.base import Media, Output, RunInfo
from facereject.tables.columns import check_columns
from facereject.tables.writing import encode_frame


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
    >>> from facereject.outputs.camera.json_lines import JSONLines
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
