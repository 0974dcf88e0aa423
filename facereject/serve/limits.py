"""The limits of a server: bytes and pixels before anything is decoded, seconds, requests at a time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ServeLimits:
    """Limits of a server.

    Attributes
    ----------
    image_bytes, video_bytes, table_bytes, frame_bytes : int
        Largest body of an image, a video and a table; largest message of a live client.
    table_items, table_rows : int
        Lists and objects in the body of a table, of which 64 MB of real faces hold about two million; rows
        that it may have.
    decide_items : int
        Lists and objects, so about frames, in the body of a request for decisions.
    image_pixels, frame_pixels : int
        Width times height of an image; of the frames of a video or a live client.
    body_s, video_body_s : float
        Seconds within which a whole body must have come, in general and of a video.
    silent_s : float
        Seconds that a client may take for its request, or between two parts of a body.
    idle_s : float
        Seconds after which a live client that sends no frame is disconnected, and a client that does not
        read its response.
    video_s, stall_s : float
        Seconds that a video may take, and that may pass in it without a frame that can be decoded.
    images, videos, live, tables, questions : int
        Requests of a kind at the same time; others get error 503. Requests that wait for a worker are counted
        here, so no queue is longer than their sum.
    connections : int
        Open connections of any kind.
    """

    image_bytes: int = 64 << 20
    video_bytes: int = 2 << 30
    table_bytes: int = 64 << 20
    table_items: int = 2_500_000
    table_rows: int = 100_000
    decide_items: int = 500_000
    frame_bytes: int = 4 << 20
    image_pixels: int = 60_000_000
    frame_pixels: int = 9_000_000
    body_s: float = 60.0
    video_body_s: float = 600.0
    silent_s: float = 10.0
    idle_s: float = 60.0
    video_s: float = 3600.0
    stall_s: float = 5.0
    images: int = 8
    videos: int = 4
    live: int = 16
    tables: int = 2
    questions: int = 16
    connections: int = 200
