"""A real server on a free port, in a thread of this process."""

from __future__ import annotations

import io
import threading
from contextlib import contextmanager

import httpx
import numpy as np
import PIL.Image

from facereject.serve.app import ServeCounts, make_app
from facereject.serve.limits import ServeLimits
from facereject.serve.models import ModelRegistry
from facereject.serve.server import address_of, bind, make_server


class Running:
    """A server that runs: its address, counts, and a client."""

    def __init__(self, address: str, counts: ServeCounts, server) -> None:
        self.address, self.counts, self.server = address, counts, server
        self.port = int(address.rstrip("/").rpartition(":")[2])
        self.client = httpx.Client(base_url=address, timeout=30)

    @property
    def socket_address(self) -> str:
        return self.address.replace("http://", "ws://") + "api/live"


@contextmanager
def running(
    rejector,
    *,
    limits: ServeLimits | None = None,
    others=None,
    host=None,
    token=None,
    workers=2,
    name="first",
    notes=None,
):
    """Serve a rejector while the block lasts."""
    counts, ready = ServeCounts(), threading.Event()
    models = ModelRegistry(name, rejector, others, notes)
    app = make_app(models, host=host, token=token, workers=workers, limits=limits, counts=counts)
    listener = bind("127.0.0.1", 0)
    server = make_server(app, limits=limits, on_ready=ready.set)
    thread = threading.Thread(target=server.run, args=[[listener]], daemon=True)
    thread.start()
    assert ready.wait(30)
    found = Running(address_of(listener), counts, server)
    try:
        yield found
    finally:
        found.client.close()
        server.should_exit = True
        thread.join(30)
        listener.close()
        assert not thread.is_alive()


def jpeg(image: np.ndarray) -> bytes:
    data = io.BytesIO()
    PIL.Image.fromarray(image).save(data, "JPEG", quality=92)
    return data.getvalue()


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(PIL.Image.open(io.BytesIO(data)).convert("RGB"))
