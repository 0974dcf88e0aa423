"""Where the files of a table are, and the pixels of its faces; nothing outside the folders is opened."""

from __future__ import annotations

import functools
import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import cv2
import numpy as np
import PIL.Image

from facereject._files import stamp_of
from facereject._validation import FloatArray
from facereject.faces.face import Box, cut_square, encode_jpeg, reduced, square_of
from facereject.faces.images import MAX_PIXELS, ImageArray, ImageError, read_image
from facereject.outputs._drawing.faces import draw_points
from facereject.outputs._folders import is_inside
from facereject.serve.review.faces import ReviewFaces
from facereject.sources._video.decoder import FrameRange
from facereject.sources.video import VideoError, open_video
from facereject.sources.video_parts import find_parts

# sides of a crop in the grid and of the large view, in pixels, and what they show in sides of the face box
CROP_SIDE, VIEW_SIDE = 192, 1200
CROP_REACH, VIEW_REACH = 1.5, 2.4

# frames of a video that are decoded for one request, about; a seek leads to the key frame before them
_PART_FRAMES = 250

# bytes of crops and views that are kept; the page keeps its crops as well
_KEPT_BYTES = 32 << 20

# inputs that tell where the files of a table are
_LOOKED_AT = 50


class NoImageError(ValueError):
    """A face cannot be shown; the message says why."""


class Folder:
    """The files of a table below some folders.

    Parameters
    ----------
    sources : sequence of str
        As the table names them.
    images : str or None
        The folder they are in. Their names may begin with folders that are not in it, as after a move. None
        takes names as they are, below the current folder or that of the table.
    table : str
    stamps : dict of str to str
        Size and time of change of each input when it was scored, as far as known.
    """

    def __init__(
        self, sources: Sequence[str], images: str | None, table: str, stamps: dict[str, str] | None = None
    ) -> None:
        beside = os.path.dirname(os.path.abspath(table))
        self._stamps = stamps or {}
        self.roots = [os.path.realpath(images)] if images else [os.getcwd(), os.path.realpath(beside)]
        self._bases, self._dropped = ([images] if images else [os.getcwd(), beside]), 0
        if images:
            self._bases.append(os.getcwd())
            sample = sources[:: max(1, len(sources) // _LOOKED_AT)]
            depth = max((name.count(os.sep) for name in sample), default=0)
            found = [sum(map(os.path.isfile, (self._below(s, k) for s in sample))) for k in range(depth + 1)]
            self._dropped = int(np.argmax(found))

    def path(self, source: str) -> str:
        """The file of an input; NoImageError if it is missing, elsewhere, or has changed since."""
        candidates = [
            self._below(source, self._dropped),
            *(os.path.join(base, source) for base in self._bases),
        ]
        path = next(filter(os.path.lexists, candidates), None)
        if path is None:
            raise NoImageError("This file is not there any more, or in another folder.")
        real = os.path.realpath(path)
        if not any(is_inside(real, root) for root in self.roots):
            raise NoImageError("This file is outside the folder of images, so it is not opened.")
        if not os.path.isfile(real):
            raise NoImageError("This is not a regular file.")
        if self._stamps.get(source) and stamp_of(real) != self._stamps[source]:
            raise NoImageError("This file has changed since it was scored. Score it again.")
        return real

    def stamp(self, source: str) -> str:
        """Size and time of change of an input when it was scored; empty if unknown."""
        return self._stamps.get(source, "")

    def has(self, source: str) -> bool:
        """Whether an input can be opened."""
        try:
            return bool(self.path(source))
        except NoImageError:
            return False

    def _below(self, source: str, dropped: int) -> str:
        """A file in the folder of images, without the first `dropped` folders of its name."""
        parts = os.path.normpath(source).split(os.sep)
        return os.path.join(self._bases[0], *parts[min(dropped, len(parts) - 1) :])


class View(NamedTuple):
    """A square of an image, as it is shown: left, top and side in pixels of the image."""

    left: int
    top: int
    side: int


def view_of(box: Box) -> View:
    """The square that the large view shows."""
    return View(*square_of(box, VIEW_REACH))


class Decoded(NamedTuple):
    """An image, and its pixels for each pixel of the file."""

    image: ImageArray
    scale: float


class FaceImages:
    """Crops and large views as JPEG, a bounded number of bytes of them kept.

    Parameters
    ----------
    faces : ReviewFaces
    folder : Folder
    max_pixels : int
        Larger images are not opened.
    """

    def __init__(self, faces: ReviewFaces, folder: Folder, max_pixels: int = MAX_PIXELS) -> None:
        self._faces, self._folder, self._max_pixels = faces, folder, max_pixels
        self._kept: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._bytes = 0
        shown = np.unique(faces.columns["crop"])
        order = shown[np.argsort(faces.columns["source"][shown], kind="stable")]
        starts = np.searchsorted(faces.columns["source"][order], np.arange(len(faces.sources) + 1))
        # the faces that are shown of each input: an image is opened once for all of them
        self._shown, self._starts = order, starts

    def unit(self, number: int) -> tuple[int, int]:
        """What is decoded to show a face: an image, or a part of a video."""
        source = int(self._faces.columns["source"][number])
        if not self._faces.is_video(number):
            return source, 0
        return source, int(self._faces.columns["frame"][number]) // _PART_FRAMES

    def kept(self, kind: str, number: int) -> bytes | None:
        """A crop or view that was made before."""
        data = self._kept.get((kind, number))
        if data is not None:
            self._kept.move_to_end((kind, number))
        return data

    def make(self, kind: str, number: int) -> dict[tuple[str, int], bytes]:
        """Make a "crop", a "plain" one (without landmarks) or a "view"; crops of neighbours come with it.

        Does not touch what is kept, so that it can run in another thread; see `keep`.

        Raises
        ------
        NoImageError
        """
        source, part = self.unit(number)
        wanted = [number]
        if kind != "view":
            near = self._shown[self._starts[source] : self._starts[source + 1]]
            wanted = [int(n) for n in near if self.unit(int(n))[1] == part]
            wanted = wanted if number in wanted else [number, *wanted]
        # a JPEG is decoded faster at a half, a quarter or an eighth of its size; views must be exact, as
        # landmarks are dragged on them
        smallest = min(max(self._faces.box(n)[2:]) for n in wanted)
        spare = 1 if kind == "view" else int(min(8, max(1, CROP_REACH * smallest // CROP_SIDE)))
        made = {}
        for each, shown in self._images(source, wanted, spare):
            try:
                made[kind, each] = self._encoded(kind, each, shown)
            except NoImageError:
                # a neighbour that cannot be shown costs nobody else
                if each == number:
                    raise
        return made

    def keep(self, made: dict[tuple[str, int], bytes]) -> None:
        """Keep crops and views; drop the ones used longest ago."""
        for key, data in made.items():
            self._bytes += len(data) - len(self._kept.pop(key, b""))
            self._kept[key] = data
        while self._bytes > _KEPT_BYTES and len(self._kept) > 1:
            self._bytes -= len(self._kept.popitem(last=False)[1])

    def pixels(self, number: int) -> ImageArray:
        """The whole image or frame in which a face is."""
        source, _ = self.unit(number)
        return next(image for _, (image, _) in self._images(source, [number]))

    def _encoded(self, kind: str, number: int, shown: Decoded) -> bytes:
        faces, box = self._faces, self._faces.box(number)
        if kind == "view":
            return encode_jpeg(reduced(_cut(shown.image, view_of(box)), VIEW_SIDE), 90)
        square = View(*square_of(Box(*(shown.scale * value for value in box)), CROP_REACH))
        small = reduced(_cut(shown.image, square), CROP_SIDE)
        small = np.asarray(
            cv2.resize(small, (CROP_SIDE, CROP_SIDE), interpolation=cv2.INTER_LINEAR), np.uint8
        )
        landmarks = faces.landmarks(number) if kind == "crop" else None
        if landmarks is not None:
            placed: FloatArray = (landmarks + 0.5) * shown.scale - (square.left, square.top)
            placed = placed * (CROP_SIDE / square.side) - 0.5
            draw_points(small, placed, faces.landmark_errors(number), CROP_SIDE / (100 * CROP_REACH))
        return encode_jpeg(small, 82)

    def _images(self, source: int, wanted: Sequence[int], spare: int = 1) -> Iterator[tuple[int, Decoded]]:
        """The image of each face; a JPEG may be decoded up to `spare` times smaller, which is faster."""
        path = self._folder.path(self._faces.sources[source])
        scale = 1.0

        def shrink(opened: PIL.Image.Image) -> None:
            nonlocal scale
            width, height = opened.size
            opened.draft(None, (width // spare, height // spare))
            scale = opened.width / width

        try:
            if not self._faces.is_video(wanted[0]):
                image = read_image(path, max_pixels=self._max_pixels, on_open=shrink)
                yield from ((number, Decoded(image, scale)) for number in wanted)
                return
            for number, image in self._frames(path, source, wanted):
                yield number, Decoded(image, 1.0)
        except (ImageError, VideoError) as error:
            raise NoImageError(
                f"This file cannot be read: {str(error).partition(': ')[2] or error}."
            ) from None

    def _frames(self, path: str, source: int, wanted: Sequence[int]) -> Iterator[tuple[int, ImageArray]]:
        """Frames of a video by their times; decoding begins at the key frame before the first one."""
        times = self._faces.columns["time_s"]
        left = sorted(wanted, key=lambda number: times[number])
        parts = _parts_of(path, stamp_of(path), self._max_pixels)
        first = int(self._faces.columns["frame"][left[0]])
        segment = max((part for part in parts if part.number <= first), key=lambda p: p.number, default=None)
        if segment is not None:
            # what is wanted may reach into the next part
            segment = segment._replace(stop=None)
        with open_video(path, max_pixels=self._max_pixels, segment=segment) as frames:
            step = 0.5 / frames.fps if frames.fps else 0.001
            for frame in frames:
                while left and times[left[0]] <= frame.time_s + step:
                    yield left.pop(0), frame.image
                if not left:
                    return
        raise NoImageError("This frame is not in the video any more.")


@functools.lru_cache(maxsize=32)
def _parts_of(path: str, stamp: str, max_pixels: int) -> list[FrameRange]:
    return find_parts(path, part_frames=_PART_FRAMES, warm_up=0, max_pixels=max_pixels)


def _cut(image: ImageArray, view: View) -> ImageArray:
    cut = None if view.side > 4 * max(image.shape[:2]) else cut_square(image, *view)
    if cut is None:
        raise NoImageError("The face is outside this image: it is not the one that was scored.")
    return cut
