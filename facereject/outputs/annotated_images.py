"""Images with their faces drawn: landmarks, expected error and decision."""

from __future__ import annotations

import os
from dataclasses import MISSING, dataclass, field

from facereject._options import option
from facereject.faces.face import FaceFrame
from facereject.outputs._drawing.faces import draw_faces, draw_note
from facereject.outputs._images import ImageFolder, jpeg
from facereject.outputs.base import Media


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

    folder: str = option(
        MISSING,
        "--annotated",
        metavar="DIR",
        help="Save photos with landmarks, expected error and decision drawn.",
    )

    _drawing: bool = field(default=False, init=False, repr=False)

    def begin(self, media: Media) -> None:
        """Another input begins; videos are left out."""
        super().begin(media)
        self._drawing = media.kind == "image"

    def write(self, frame: FaceFrame) -> None:
        """Save an image with its faces drawn, or with a note that there is none."""
        if self._drawing and not frame.problem:
            found = frame.faces
            drawn = draw_faces(frame.image, found) if found else draw_note(frame.image, "no face found")
            self._save("annotated", jpeg(drawn))

    def report(self) -> list[str]:
        """Where the images are."""
        nothing = "none, there is no photo (for videos: --save VIDEO --annotate)"
        return [f"Annotated: {self.folder if os.path.isdir(self.folder) else nothing}"]
