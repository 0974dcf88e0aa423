"""What a server takes at most: bytes and pixels before anything is decoded, seconds, things at a time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ServeLimits:
    """Limits of a server.

    Attributes
    ----------
    picture_bytes, video_bytes, table_bytes, frame_bytes : int
        Largest body of a picture, a video and a table; largest message of a live client.
    picture_pixels, frame_pixels : int
        Width times height of a picture; of the frames of a video or a live client.
    body_s, video_body_s : float
        Seconds within which a whole body must have come, in general and of a video.
    silent_s : float
        Seconds a client may say nothing while its request or body is awaited.
    idle_s : float
        Seconds after which a live client that sends no frame is sent away, and a client that does not read
        what it asked for.
    video_s : float
        Seconds that a video may take.
    pictures, videos, live, tables, questions : int
        Requests of a kind at the same time; more are answered with 503. Whatever waits for a worker is
        counted here, so no queue is longer than their sum.
    connections : int
        Open connections of any kind.
    """

    picture_bytes: int = 64 << 20
    video_bytes: int = 2 << 30
    table_bytes: int = 64 << 20
    frame_bytes: int = 4 << 20
    picture_pixels: int = 60_000_000
    frame_pixels: int = 9_000_000
    body_s: float = 60.0
    video_body_s: float = 600.0
    silent_s: float = 10.0
    idle_s: float = 60.0
    video_s: float = 3600.0
    pictures: int = 8
    videos: int = 4
    live: int = 16
    tables: int = 4
    questions: int = 16
    connections: int = 200
