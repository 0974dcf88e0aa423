"""What the outputs for other tools share: a file that is written at the end, from all faces of a run."""

from __future__ import annotations

import math
import os
import tempfile
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


def seen(face: Face, size: tuple[int, int]) -> NDArray[np.bool_]:
    """Which landmarks are visible, as far as the model says; never those outside the image."""
    points = face.landmarks
    inside = ((points > -0.5) & (points < np.array(size) - 0.5)).all(axis=1)
    return np.asarray(inside if face.visible is None else inside & face.visible)


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

    Subclasses have a field ``path``, add pieces of text with `add` and join them in `assembled`. Frames of
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
        self.n_faces = self.n_left_out = 0
        self.begun()

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
        self.n_faces += len(faces)
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

    def begun(self) -> None:
        """The run begins."""

    def take(self, frame: FaceFrame, faces: list[Face]) -> None:
        """Take the faces of a frame that have landmarks."""
        raise NotImplementedError

    def assembled(self) -> Any:
        """The pieces of the file, in order."""
        raise NotImplementedError

    def add(self, part: str, text: str, separator: str = ",\n") -> None:
        """Add a piece of text to a part, on the disk.

        Parameters
        ----------
        part : str
            Name of the part.
        text : str
            The piece.
        separator : str
            Goes between pieces.
        """
        if part not in self._parts:
            # closed when the file is put together
            self._parts[part] = tempfile.TemporaryFile(  # noqa: SIM115
                "w+", encoding="utf-8", errors="surrogatepass"
            )
        else:
            text = separator + text
        self._parts[part].write(text)

    def pieces(self, part: str) -> Any:
        """Read back what was added to a part.

        Parameters
        ----------
        part : str
            Name of the part.

        Yields
        ------
        str
        """
        file = self._parts.get(part)
        if file is not None:
            file.seek(0)
            while block := file.read(1 << 20):
                yield block
            file.close()


def rounded(values: Any, digits: int = 3) -> list[Any]:
    """Numbers for a file of text."""
    return [round(float(value), digits) for value in np.ravel(values)]
