"""What becomes of frames and their faces: tables, sorted files, videos, crops, contact sheets, a window."""

from facereject.outputs._video.writer import VideoWriteError, VideoWriter

__all__ = ["VideoWriteError", "VideoWriter"]
