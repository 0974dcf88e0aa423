"""Live clients: JPEG frames in, JSON out. One frame is in work; of those that wait, the newest wins."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from starlette.exceptions import HTTPException
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from facereject.faces.domain_monitor import DomainMonitor
from facereject.serve.limits import ServeLimits
from facereject.serve.models import ModelRegistry, ModelRequest, describe_target
from facereject.serve.pool import WorkPool
from facereject.serve.responses import encode, error_response, frame_response, log_failure, unusable
from facereject.serve.scoring import decode_jpeg
from facereject.sources.frame import Frame
from facereject.tracking.tracker import FaceTracker

# codes of the protocol: going away, try again later
_GONE, _LATER = 1001, 1013


class LiveClient:
    """One open socket with its own tracker, model and target.

    Parameters
    ----------
    socket : WebSocket
        Accepted.
    models : ModelRegistry
    pool : WorkPool
    limits : ServeLimits

    Attributes
    ----------
    frames : int
        Scored so far.
    """

    def __init__(self, socket: WebSocket, models: ModelRegistry, pool: WorkPool, limits: ServeLimits) -> None:
        self._socket, self._models, self._pool, self._limits = socket, models, pool, limits
        self._request = ModelRequest()
        self._watching: tuple[FaceTracker, DomainMonitor] | None = None
        self._newest: tuple[int, float, bytes] | None = None
        self._asked: str | None = None
        self._received = 0
        self._something = asyncio.Event()
        self._start = time.monotonic()
        self.frames = 0

    async def run(self) -> None:
        """Answer until the client goes, or sends nothing for too long."""
        receiving = asyncio.create_task(self._receive())
        receiving.add_done_callback(lambda _: self._something.set())
        try:
            while not receiving.done():
                try:
                    await asyncio.wait_for(self._something.wait(), self._limits.idle_s)
                except asyncio.TimeoutError:
                    await self._socket.close(_GONE, "no frame came for a while")
                    return
                await self._work()
            receiving.result()
        except (WebSocketDisconnect, asyncio.TimeoutError):
            pass
        finally:
            receiving.cancel()
            await asyncio.gather(receiving, return_exceptions=True)

    async def _receive(self) -> None:
        """Keep the newest frame; it takes the place of one that nobody has looked at."""
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            data, text = message.get("bytes"), message.get("text")
            if data is not None:
                self._newest = (self._received, time.monotonic() - self._start, data)
                self._received += 1
            elif text is not None:
                # the last one counts, and a flood of them is not kept
                self._asked = text
            self._something.set()

    async def _work(self) -> None:
        self._something.clear()
        asked, self._asked = self._asked, None
        newest, self._newest = self._newest, None
        if asked is not None:
            await self._send(await self._change(asked))
        if newest is not None:
            await self._send(await self._score(*newest))

    async def _change(self, text: str) -> dict[str, Any]:
        """Another model or target."""
        try:
            try:
                values = json.loads(text)
            except (ValueError, RecursionError):
                values = None
            if not isinstance(values, dict):
                raise unusable('a message must be JSON such as {"expected_error": 5}')
            described = await self._pool.run(self._use, ModelRequest.parse(values))
        except HTTPException as error:
            return {"error": error.detail}
        return {"target": described}

    def _use(self, request: ModelRequest) -> dict[str, Any]:
        rejector = self._models.get(request)
        if self._watching is None or request.scale != self._request.scale:
            self._watching = FaceTracker(rejector), DomainMonitor(rejector)
        else:
            # faces keep their numbers under another target
            self._watching[0].use(rejector)
        self._request = request
        return describe_target(rejector, request)

    async def _score(self, number: int, time_s: float, data: bytes) -> dict[str, Any]:
        try:
            response = await self._pool.run(self._score_here, number, time_s, data)
        except HTTPException as error:
            return {"frame": number, "error": error.detail}
        except Exception as error:
            # the next frame may work
            log_failure("A frame of /api/live", error)
            return {"frame": number, "error": "the server failed on this frame"}
        self.frames += 1
        return response

    def _score_here(self, number: int, time_s: float, data: bytes) -> dict[str, Any]:
        start = time.perf_counter()
        image = decode_jpeg(data, self._limits.frame_pixels)
        if self._watching is None:
            self._use(self._request)
        assert self._watching is not None
        tracker, monitor = self._watching
        scored = tracker(Frame(number, time_s, image))
        monitor.add(scored.faces)
        height, width = image.shape[:2]
        return {
            "frame": number,
            "width": width,
            "height": height,
            "seconds": round(time.perf_counter() - start, 4),
            **frame_response(scored.faces),
            "domain": monitor.to_dict(),
        }

    async def _send(self, response: dict[str, Any]) -> None:
        # a client that does not read is disconnected, so that nothing piles up for it
        await asyncio.wait_for(self._socket.send_text(encode(response).decode()), self._limits.silent_s)


async def reject_socket(socket: WebSocket, error: HTTPException) -> None:
    """Turn a client away before its socket is open."""
    if socket.client_state == WebSocketState.CONNECTING:
        if "websocket.http.response" in socket.scope.get("extensions", {}):
            await socket.send_denial_response(error_response(error))
        else:
            await socket.close(_LATER, error.detail[:120])
