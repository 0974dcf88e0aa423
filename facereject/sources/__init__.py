"""Where frames come from: photos, videos, cameras, and the landmark files of other tools."""

from facereject.sources.annotated import annotated_faces
from facereject.sources.frame import Frame, VideoError
from facereject.sources.inputs import InputError
from facereject.sources.video import open_video

__all__ = [
    "Frame",
    "InputError",
    "VideoError",
    "annotated_faces",
    "open_video",
]
