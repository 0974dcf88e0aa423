"""Following faces through the frames of a video or a camera."""

from facereject.tracking.judged import judged_frames, judged_video
from facereject.tracking.tracker import FaceTracker, TrackedFace

__all__ = ["FaceTracker", "TrackedFace", "judged_frames", "judged_video"]
