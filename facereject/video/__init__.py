"""Reading, writing and following faces through videos."""

from facereject.faces.face import FaceFrame
from facereject.video.frames import Frame, VideoError
from facereject.video.judged import judged_frames, judged_video
from facereject.video.reader import VideoReader, open_video
from facereject.video.tracker import FaceTracker, TrackedFace
from facereject.video.writer import VideoWriteError, VideoWriter

__all__ = [
    "FaceFrame",
    "FaceTracker",
    "Frame",
    "TrackedFace",
    "VideoError",
    "VideoReader",
    "VideoWriteError",
    "VideoWriter",
    "judged_frames",
    "judged_video",
    "open_video",
]
