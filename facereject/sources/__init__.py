"""Where frames come from: photos, videos, cameras, and the landmark files of other tools."""

from facereject.sources.annotated import annotated_faces
from facereject.sources.frame import Frame, VideoError
from facereject.sources.inputs import Input, InputError, expand_inputs
from facereject.sources.video import VideoReader, open_video

__all__ = [
    "Frame",
    "Input",
    "InputError",
    "VideoError",
    "VideoReader",
    "annotated_faces",
    "expand_inputs",
    "open_video",
]
