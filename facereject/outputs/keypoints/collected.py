"""What the outputs for other tools share: a file written at the end, confidences; `to_supervision`."""

from __future__ import annotations

import io
import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO, Any, ClassVar

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from facereject._files import display_name, replacing
from facereject._words import counted
from facereject.faces.face import Face, FaceFrame
from facereject.faces.images import ImageError, read_image
from facereject.outputs._folders import check_file
from facereject.outputs.base import Media, Output, RunInfo

# expected error in percent at which the confidence is one half
HALF = 5.0

# values of the EXIF orientation that exchange width and height
_LYING = (5, 6, 7, 8)
_ORIENTATION = 274


def confidences(face: Face) -> NDArray[np.float64]:
    """A number from 0 to 1 for every landmark: 2 ** (-e / 5) for an expected error of e percent.

    Landmarks whose own error is unknown get that of the face; if this has no unit, 1 if it is accepted.
    """
    errors = face.landmark_errors
    if errors is None or not np.isfinite(errors).all():
        errors = np.full(len(face.landmarks), face.expected_error)
    if not np.isfinite(errors).all():
        return np.full(len(face.landmarks), float(face.accepted))
    return np.asarray(2.0 ** (-np.asarray(errors, dtype=np.float64) / HALF))


def confidence(face: Face) -> float:
    """The same for the face as a whole."""
    if not math.isfinite(face.expected_error):
        return float(face.accepted)
    return float(2.0 ** (-face.expected_error / HALF))


def image_size(path: str) -> tuple[int, int]:
    """Width and height of an image as it is shown; (0, 0) if it cannot be read."""
    try:
        with PIL.Image.open(path) as image:
            width, height = image.size
            lying = image.getexif().get(_ORIENTATION) in _LYING
            return (height, width) if lying else (width, height)
    except (OSError, ValueError, SyntaxError, PIL.Image.DecompressionBombError):
        pass
    try:
        shape = read_image(path).shape
        return int(shape[1]), int(shape[0])
    except (ImageError, OSError):
        return 0, 0


class KeypointFile(Output):
    """A file of all faces, written in one step at the end.

    Subclasses have a field ``path``, add pieces of text with `_add` and join them in `assembled`. Frames of
    videos are left out unless ``videos`` is true.
    """

    place = "end"
    panel = "Files for other tools"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    title: ClassVar[str] = ""
    videos: ClassVar[bool] = False

    path: str

    def prepare(self, run: RunInfo) -> None:
        """Check the name of the file."""
        name = f"{type(self).__name__}.path"
        self.path = check_file(name, self.path, self.suffixes, overwrite=run.overwrite)
        self._base, self._folder = run.base, run.folder
        self._parts: dict[str, IO[str]] = {}
        self.n_images = self.n_faces = self.n_points = self.n_left_out = 0

    def files(self) -> list[str]:
        """The file."""
        return [os.fspath(self.path)]

    def begin(self, media: Media) -> None:
        """Another input begins."""
        self.media = media
        # from the folder of the images, as tools name what was uploaded or lies in their folder
        name = os.path.relpath(os.path.join(self._folder, media.path), self._base)
        self.name = media.source if name.startswith(os.pardir) else display_name(name.replace(os.sep, "/"))
        self.size = (0, 0) if media.kind == "video" else image_size(media.path)

    def write(self, frame: FaceFrame) -> None:
        """Take a frame; subclasses take its faces in `take`."""
        faces = [face for face in frame.faces if np.isfinite(face.landmarks).all()]
        if self.media.kind == "video" and not self.videos:
            self.n_left_out += len(faces)
            return
        if frame.problem:
            return
        self.n_images += 1
        self.n_faces += len(faces)
        self.n_points = max(self.n_points, *(len(face.landmarks) for face in faces), 0)
        self.take(frame, faces)

    def close(self) -> None:
        """Write the file."""
        with replacing(self.path) as file:
            for piece in self.assembled():
                file.write(piece.encode("utf-8", "surrogatepass"))

    def report(self) -> list[str]:
        """Where the file is."""
        left = f"; {counted(self.n_left_out, 'face')} of videos left out" if self.n_left_out else ""
        return [f"{self.title}: {self.path} ({counted(self.n_faces, 'face')}{left})"]

    def take(self, frame: FaceFrame, faces: list[Face]) -> None:
        """Take the faces of a frame that have landmarks; ``n_images`` and ``n_points`` count them already."""
        raise NotImplementedError

    def assembled(self) -> Iterator[str]:
        """The pieces of the file, in order."""
        raise NotImplementedError

    def _visible(self, face: Face) -> NDArray[np.bool_]:
        """Which landmarks are visible, as far as the model says; none outside an image of known size."""
        shown = np.ones(len(face.landmarks), bool) if face.visible is None else face.visible
        if not self.size[0]:
            return shown
        inside = (face.landmarks > -0.5) & (face.landmarks < np.array(self.size) - 0.5)
        return np.asarray(shown & inside.all(axis=1))

    def _add(self, part: str, text: str) -> None:
        """Add lines of text to a part of the file, on the disk."""
        if part not in self._parts:
            # closed when the file is put together
            self._parts[part] = tempfile.TemporaryFile(  # noqa: SIM115
                "w+", encoding="utf-8", errors="surrogatepass"
            )
        self._parts[part].write(f"{text}\n")

    def _pieces(self, part: str, separator: str = ",\n") -> Iterator[str]:
        """Read back the lines of a part."""
        with self._parts.pop(part, io.StringIO()) as file:
            file.seek(0)
            for i, line in enumerate(file):
                yield (separator if i else "") + line.rstrip("\n")


def rounded(values: Any, digits: int = 3) -> list[Any]:
    """Numbers for a file of text."""
    return [round(float(value), digits) for value in np.ravel(values)]


def to_supervision(faces: Sequence[Face]) -> Any:
    """Convert faces to ``supervision.KeyPoints``, with a confidence per landmark.

    Parameters
    ----------
    faces : sequence of Face
        With the same number of landmarks; those without any are left out.

    Returns
    -------
    supervision.KeyPoints
        ``confidence`` is 2 ** (-e / 5) for an expected error of e percent; ``data`` has ``expected_error``,
        ``uncertainty`` and ``accepted`` of every face.

    See Also
    --------
    facereject.FaceRejector : Finds the faces.

    Examples
    --------
    >>> from facereject.outputs import to_supervision
    >>> to_supervision(rejector("photo.jpg"))  # doctest: +SKIP
    """
    try:
        import supervision
    except ImportError:
        raise ImportError("this needs: pip install supervision") from None
    known = [face for face in faces if np.isfinite(face.landmarks).all()]
    if not known:
        return supervision.KeyPoints.empty()
    values = {
        "expected_error": np.array([face.expected_error for face in known]),
        "uncertainty": np.array([face.uncertainty for face in known]),
        "accepted": np.array([face.accepted for face in known]),
    }
    points = np.array([face.landmarks for face in known], dtype=np.float32)
    sure = np.array([confidences(face) for face in known], dtype=np.float32)
    names = supervision.KeyPoints.__dataclass_fields__
    # later versions call the confidence of points by another name
    key = "keypoint_confidence" if "keypoint_confidence" in names else "confidence"
    return supervision.KeyPoints(
        xy=points, class_id=np.zeros(len(known), dtype=int), data=values, **{key: sure}
    )
