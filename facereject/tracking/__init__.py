"""Following faces through the frames of a video or a camera."""

from facereject.tracking.tracker import FaceTracker, Tracking
from facereject.tracking.tracker import TrackedFace as TrackedFace

__all__ = ["FaceTracker", "Tracking"]
