"""Following faces through the frames of a video or a camera."""

from facereject.tracking.tracker import FaceTracker, TrackedFace, Tracking

__all__ = ["FaceTracker", "TrackedFace", "Tracking"]
