"""Images made from the inputs: accepted faces, the best frames of each person, faces drawn on photos."""

from __future__ import annotations

import io
import math
import os
from dataclasses import MISSING, dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import PIL.Image
import PIL.PngImagePlugin

from facereject._files import NOT_MADE_HERE, display_name, is_regular, open_regular
from facereject._options import OptionError, option
from facereject.faces.face import Face, FaceFrame
from facereject.faces.images import ImageArray
from facereject.outputs._drawing.crops import aligned_crop, sharpness
from facereject.outputs._drawing.faces import draw_faces, draw_note
from facereject.outputs._folders import OutputError, check_folder, name_below, write_output
from facereject.outputs.base import Media, Output, RunInfo

_COMMENT = b"facereject"
# bytes in which an image made here says so
_START = 1024

_QUALITY = 92

#: seconds; two frames of a person that are closer to each other show the same
APART_S = 0.5

# side of the crop that sharpness is measured on
_MEASURED = 128

# what a turned head and an expected error cost, in halvings of the sharpness
_DEGREES = 25.0
_PERCENT = 2.0

# pixels of the sides of crops
_SIDES = (16, 4096)


def jpeg(image: ImageArray) -> bytes:
    """Encode an RGB image as JPEG, with a comment by which it is recognised."""
    data = io.BytesIO()
    PIL.Image.fromarray(image).save(data, "JPEG", quality=_QUALITY, comment=_COMMENT)
    return data.getvalue()


def png(image: ImageArray) -> bytes:
    """Encode an RGB image as PNG, with a text by which it is recognised."""
    made = PIL.PngImagePlugin.PngInfo()
    made.add_text("Software", "facereject")
    data = io.BytesIO()
    PIL.Image.fromarray(image).save(data, "PNG", pnginfo=made)
    return data.getvalue()


def is_own_picture(path: str) -> bool:
    """Whether a file is an image that `jpeg` or `png` has made; links never are."""
    try:
        with open_regular(path) as file:
            start = file.read(_START)
    except OSError:
        return False
    return b"\xff\xfe\x00\x0cfacereject" in start or b"tEXtSoftware\x00facereject" in start


def write_picture(path: str, data: bytes, *, overwrite: bool = False) -> None:
    """Write an encoded image, and the folders above it; OutputError if that fails.

    A file that facereject did not create is replaced only with ``overwrite``, and only a regular one.
    """
    name = display_name(path)
    if os.path.lexists(path) and not (is_own_picture(path) or (overwrite and is_regular(path))):
        raise OutputError(f"{name}: {NOT_MADE_HERE.replace('`', '')}")
    try:
        os.makedirs(os.path.dirname(path) or os.curdir, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{name}: cannot be written ({error.strerror})") from None
    write_output(path, data)


@dataclass
class ImageFolder(Output):
    """An output that saves images in a folder, named after their inputs, beside the pixels.

    Parameters
    ----------
    folder : path
        Made if needed; subfolders of the inputs are kept.
    """

    place = "worker"
    panel = "Images to make (folders are made if needed)"
    title: ClassVar[str]
    #: why there may be no image
    none: ClassVar[str]

    folder: str

    _media: Media = field(init=False, repr=False)
    _base: str = field(init=False, repr=False)
    _root: str = field(init=False, repr=False)
    _overwrite: bool = field(init=False, repr=False)

    def prepare(self, run: RunInfo) -> None:
        """Check the folder."""
        self.folder = os.fspath(self.folder)
        check_folder(f"{type(self).__name__}.folder", self.folder, run.paths)
        self._base, self._overwrite = run.base, run.overwrite
        self._root = os.path.join(run.folder, self.folder)

    def begin(self, media: Media) -> None:
        """Another input begins."""
        self._media = media

    def report(self) -> list[str]:
        """Where the images are."""
        return [f"{self.title}: {self.folder if os.path.isdir(self.folder) else f'none, {self.none}'}"]

    def _save(self, what: str, data: bytes) -> None:
        """Write an encoded image under the name of the input, followed by ``what``."""
        path = os.path.join(self._root, f"{name_below(self._media.path, self._base)}.{what}.jpg")
        write_picture(path, data, overwrite=self._overwrite)


class _Shot(NamedTuple):
    """A frame that shows a person well, and the image that is made of it."""

    quality: float
    number: int
    time_s: float
    data: bytes


def _best_per_track() -> Any:
    return option(
        1,
        metavar="N",
        help="With --crops or --frames: N images of each person in a video, at least half a second apart.",
    )


class _BestShots(ImageFolder):
    """Saves the best images of each person of a video, in bounded memory."""

    best_per_track: int
    # by track, and by interval of half a second
    _shots: dict[int, dict[int, _Shot]]

    def prepare(self, run: RunInfo) -> None:
        """Check folder and number."""
        super().prepare(run)
        if self.best_per_track < 1:
            name = f"`{type(self).__name__}.best_per_track`"
            raise OptionError(f"{name} must be at least 1 image; got {self.best_per_track}")

    def begin(self, media: Media) -> None:
        """Another input begins."""
        super().begin(media)
        self._shots = {}

    def write(self, frame: FaceFrame) -> None:
        """Of a video, keep the image if it is one of the best of an accepted face."""
        if self._media.kind == "video":
            for face in frame.faces:
                if face.accepted and face.track is not None and np.isfinite(face.landmarks).all():
                    self._consider(self._shots.setdefault(face.track, {}), face, frame)

    def end(self, *, failed: bool = False) -> None:
        """Save the best images of a video, person by person."""
        for track, shots in () if failed else sorted(self._shots.items()):
            chosen: list[_Shot] = []
            for shot in sorted(shots.values(), reverse=True):
                apart = all(abs(shot.time_s - other.time_s) >= APART_S for other in chosen)
                if apart and len(chosen) < self.best_per_track:
                    chosen.append(shot)
                    self._save(f"track{track:03d}.frame{shot.number:06d}", shot.data)

    def _consider(self, shots: dict[int, _Shot], face: Face, frame: FaceFrame) -> None:
        small = aligned_crop(frame.image, face.landmarks, _MEASURED, self._media.mean_shape)
        quality = quality_of(face, sharpness(small))
        # of two neighbouring intervals only one may be left in the end
        interval, full = int(frame.time_s // APART_S), len(shots) >= 3 * self.best_per_track
        if interval in shots or full:
            worst = interval if interval in shots else min(shots, key=lambda key: shots[key].quality)
            if quality <= shots[worst].quality:
                return
            del shots[worst]
        shots[interval] = _Shot(quality, frame.index, frame.time_s, jpeg(self._image(frame, face)))

    def _image(self, frame: FaceFrame, face: Face) -> ImageArray:
        raise NotImplementedError


def quality_of(face: Face, sharp: float) -> float:
    """How well a frame shows a face: log2 of the sharpness, less for its expected error and for turning away.

    Half the sharpness is as bad as two percent of expected error more, or a head turned by 25 degrees.
    """
    error = face.expected_error if math.isfinite(face.expected_error) else face.uncertainty
    turn = 0.0 if face.pose is None else (face.pose.yaw**2 + face.pose.pitch**2) / _DEGREES**2
    return math.log2(max(sharp, 1e-6)) - error / _PERCENT - turn


@dataclass
class BestFrames(_BestShots):
    """Save the whole frames that show each person of a video best.

    Parameters
    ----------
    folder : path
        Made if needed; subfolders of the inputs are kept.
    best_per_track : int, default=1
        How many frames of each person, at least half a second apart.

    See Also
    --------
    Crops : The faces alone, cut out upright.

    Examples
    --------
    >>> from facereject import score_files
    >>> from facereject.outputs import BestFrames
    >>> score_files("clip.mp4", BestFrames("people", best_per_track=3))  # doctest: +SKIP
    """

    title = "Frames"
    none = "this run saved no accepted face of a video"

    folder: str = option(
        MISSING,
        "--frames",
        metavar="DIR",
        help="Save the frames of a video that show each person best: certain, sharp and frontal.",
    )
    best_per_track: int = _best_per_track()

    def _image(self, frame: FaceFrame, face: Face) -> ImageArray:
        return frame.image


@dataclass
class Crops(_BestShots):
    """Save accepted faces, upright and in one size.

    Files are named after their inputs, with the number of the face or track and frame added.

    Parameters
    ----------
    folder : path
        Made if needed; subfolders of the inputs are kept.
    size : int, default=256
        Side of the crops in pixels.
    best_per_track : int, default=1
        How many crops of each person in a video, at least half a second apart.

    See Also
    --------
    BestFrames : The whole frames that show each person best.

    Examples
    --------
    >>> from facereject import score_files
    >>> from facereject.outputs import Crops
    >>> score_files("photos", Crops("faces", size=128))  # doctest: +SKIP
    """

    title = "Crops"
    none = "this run saved no accepted face"

    folder: str = option(
        MISSING,
        "--crops",
        metavar="DIR",
        help="Save accepted faces, upright and of the same size: all faces of a photo, the best ones of "
        "each person in a video.",
    )
    size: int = option(256, metavar="PIXELS", help="Side of the crops.")
    best_per_track: int = _best_per_track()

    def prepare(self, run: RunInfo) -> None:
        """Check folder and numbers."""
        super().prepare(run)
        low, high = _SIDES
        if not low <= self.size <= high:
            raise OptionError(
                f"`Crops.size` must be the side of the crops in pixels, {low} to {high}; got {self.size}"
            )

    def write(self, frame: FaceFrame) -> None:
        """Save the accepted faces of an image; of a video, remember the best."""
        super().write(frame)
        for i, face in enumerate(frame.faces if self._media.kind == "image" else ()):
            if face.accepted and np.isfinite(face.landmarks).all():
                self._save(f"face{i}", jpeg(self._image(frame, face)))

    def _image(self, frame: FaceFrame, face: Face) -> ImageArray:
        return aligned_crop(frame.image, face.landmarks, self.size, self._media.mean_shape)


@dataclass
class AnnotatedImages(ImageFolder):
    """Save images with landmarks, expected error and decision drawn; videos are left out.

    Parameters
    ----------
    folder : path
        Made if needed; subfolders of the inputs are kept.

    See Also
    --------
    SavedVideo : The same for videos, with ``annotate=True``.

    Examples
    --------
    >>> from facereject import score_files
    >>> from facereject.outputs import AnnotatedImages
    >>> score_files("photos", AnnotatedImages("drawn"))  # doctest: +SKIP
    """

    title = "Annotated"
    none = "there is no photo (for videos: --save VIDEO --annotate)"

    folder: str = option(
        MISSING,
        "--annotated",
        metavar="DIR",
        help="Save photos with landmarks, expected error and decision drawn.",
    )

    def write(self, frame: FaceFrame) -> None:
        """Save an image with its faces drawn, or with a note that there is none."""
        if self._media.kind == "image" and not frame.problem:
            found = frame.faces
            drawn = draw_faces(frame.image, found) if found else draw_note(frame.image, "no face found")
            self._save("annotated", jpeg(drawn))
