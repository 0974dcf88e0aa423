"""Tables of made-up faces on small photographs, and a server that reviews them."""

from __future__ import annotations

import contextlib
import math
import os
import struct
import threading
from pathlib import Path

import httpx
import numpy as np
import skimage.data
from serving import jpeg

from facereject.faces.face import NO_IMAGE, Box, Face, FaceFrame
from facereject.faces.landmarks.point_set import MEAN_SHAPE
from facereject.serve.review.app import make_review_app
from facereject.serve.review.faces import read_faces
from facereject.serve.review.session import Session, open_session
from facereject.serve.server import address_of, bind, make_server
from facereject.tables.packing import rows_of
from facereject.tables.writing import write_rows

TOKEN = "a-token-for-tests"
BOX = Box(50.0, 40.0, 80.0, 80.0)


def face(uncertainty: float, *, box: Box = BOX, limit: float = 0.5, **options) -> Face:
    """A face whose expected error is ten times its uncertainty."""
    low, high = MEAN_SHAPE.min(axis=0), MEAN_SHAPE.max(axis=0)
    landmarks = (MEAN_SHAPE - low) / (high - low) * (0.8 * box.width) + (box.x + 8, box.y + 8)
    errors = np.full(68, 10 * uncertainty)
    accepted = uncertainty <= limit
    return Face(
        box, 1.0, landmarks, uncertainty, 10 * uncertainty, accepted, landmark_errors=errors, **options
    )


def photo() -> np.ndarray:
    """A photograph of 200 x 180 pixels with a face in `BOX`."""
    return np.ascontiguousarray(skimage.data.astronaut()[30:210, 130:330])


def write_table(path: Path, frames: list[FaceFrame]) -> Path:
    with open(path, "wb") as file:
        write_rows(file, path.suffix, (row for frame in frames for row in rows_of(frame)))
    return path


def make_photos(folder: Path, n: int, *, suffix: str = ".csv", table: Path | None = None) -> Path:
    """So many photos with one face each, uncertainties from 0 to 1 in a mixed order; gives the table."""
    folder.mkdir(parents=True)
    base, frames = photo(), []
    order = np.random.default_rng(1).permutation(n)
    # a few different photos, the others are links to them: a disk need not hold thousands
    for k in range(n):
        name = folder / f"{k:05d}.jpg"
        if k < 32:
            name.write_bytes(
                jpeg(np.roll(base, 3 * k, axis=2) if k % 2 else np.ascontiguousarray(base[:, ::-1]))
            )
        else:
            os.link(folder / f"{k % 32:05d}.jpg", name)
        source = str(Path(folder.name) / name.name)
        found = face((order[k] + 0.5) / n, cause=("blur", "dark", "unclear")[k % 3])
        frames.append(FaceFrame(0, math.nan, NO_IMAGE, [found], source))
    return write_table(table or folder.parent / f"faces{suffix}", frames)


class Reviewing:
    """A review that is served: its session, address and a client that has the token."""

    def __init__(self, session: Session, address: str) -> None:
        self.session, self.address = session, address
        headers = {"Authorization": f"Bearer {TOKEN}"}
        self.client = httpx.Client(base_url=address.partition("?")[0], headers=headers, timeout=30)

    def view(self, number: int) -> httpx.Response:
        return self.client.get(f"/api/view/{self.session.version}/{number}")

    def crops(self, numbers: list[int], kind: str = "crop") -> dict[int, bytes | str]:
        """The crops of faces: a JPEG, or the sentence that says why there is none."""
        listed = ",".join(map(str, numbers))
        answer = self.client.get(f"/api/crops/{self.session.version}/{kind}?faces={listed}")
        assert answer.status_code == 200, answer.text
        found, rest = {}, answer.content
        while rest:
            number, status, length = struct.unpack_from("<III", rest)
            data, rest = rest[12 : 12 + length], rest[12 + length :]
            found[number] = data if status == 200 else data.decode()
        assert sorted(found) == sorted(numbers)
        return found

    def crop(self, number: int, kind: str = "crop") -> bytes | str:
        return self.crops([number], kind)[number]

    def decide(self, numbers: list[int], decision: int) -> httpx.Response:
        return self.client.post("/api/decide", json={"numbers": numbers, "decision": decision})

    def finished(self, path: str, body: dict) -> dict:
        """What became of an export or a search for duplicates."""
        assert self.client.post(path, json=body).status_code == 200
        while (state := self.client.get(path).json())["running"]:
            pass
        return state


@contextlib.contextmanager
def reviewing(table: Path, *, page: str = "review", queue: list[int] | None = None, **options):
    """Serve a review of a table while the block lasts."""
    session = open_session(read_faces(str(table)), **options)
    session.queue = queue or []
    ready, listener = threading.Event(), bind("127.0.0.1", 0)
    server = make_server(make_review_app(session, TOKEN, page=page), on_ready=ready.set)
    thread = threading.Thread(target=server.run, args=[[listener]], daemon=True)
    thread.start()
    assert ready.wait(30)
    found = Reviewing(session, address_of(listener, TOKEN))
    try:
        yield found
    finally:
        found.client.close()
        server.should_exit = True
        thread.join(30)
        listener.close()
        session.decisions.close()
        assert not thread.is_alive()
