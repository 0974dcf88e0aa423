"""Where frames come from: photos, videos, cameras, and the landmark files of other tools."""

from facereject._files import InputError
from facereject.sources.annotated import annotated_faces
from facereject.sources.frame import Frame
from facereject.sources.frame import VideoError as VideoError
from facereject.sources.video import open_video

__all__ = [
    "Frame",
    "InputError",
    "annotated_faces",
    "open_video",
]
