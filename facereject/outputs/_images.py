"""Image files of outputs: JPEG and PNG that say who made them, in folders or one by one."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass, field

import PIL.Image
import PIL.PngImagePlugin

from facereject._files import NOT_MADE_HERE, display_name, is_regular, open_regular
from facereject.faces.images import ImageArray
from facereject.outputs._folders import OutputError, check_folder, name_below, write_output
from facereject.outputs.base import Media, Output, RunInfo

_COMMENT = b"facereject"
# bytes in which an image made here says so
_START = 1024

_QUALITY = 92


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

    folder: str

    _base: str = field(default="", init=False, repr=False)
    _root: str = field(default="", init=False, repr=False)
    _overwrite: bool = field(default=False, init=False, repr=False)
    _path: str = field(default="", init=False, repr=False)

    def prepare(self, run: RunInfo) -> None:
        """Check the folder."""
        self.folder = os.fspath(self.folder)
        check_folder(f"{type(self).__name__}.folder", self.folder, run.paths)
        self._base, self._overwrite = run.base, run.overwrite
        self._root = os.path.join(run.folder, self.folder)

    def begin(self, media: Media) -> None:
        """Another input begins."""
        self._path = media.path

    def _save(self, what: str, data: bytes) -> None:
        """Write an encoded image under the name of the input, followed by ``what``."""
        path = os.path.join(self._root, f"{name_below(self._path, self._base)}.{what}.jpg")
        write_picture(path, data, overwrite=self._overwrite)


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
