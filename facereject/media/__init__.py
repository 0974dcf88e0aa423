"""Sources (images, films, cameras), the table of what was found in them, and where it goes."""

from .camera import Camera, CameraError
from .drawing import draw_faces
from .images import read_image
from .inputs import Input, InputError, expand_inputs
from .run import score_inputs
from .sinks import StreamSink, TableError, TableSink
from .table import COLUMNS, REASONS, Row, frame_accepted, rows_of_frame
from .task import ScoreTask
from .tracking import FaceTracker
from .video import VideoError, VideoReader, open_video

__all__ = [
    "COLUMNS",
    "REASONS",
    "Camera",
    "CameraError",
    "FaceTracker",
    "Input",
    "InputError",
    "Row",
    "ScoreTask",
    "StreamSink",
    "TableError",
    "TableSink",
    "VideoError",
    "VideoReader",
    "draw_faces",
    "expand_inputs",
    "frame_accepted",
    "open_video",
    "read_image",
    "rows_of_frame",
    "score_inputs",
]
