"""Live clients: JPEG frames in, JSON out. The newest frame wins; each client has one frame in work."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from facereject.serve.answers import frame_answer
from facereject.serve.limits import ServeLimits
from facereject.serve.models import ModelShelf, Wish, describe_target, wish_of
from facereject.serve.pictures import decode_jpeg
from facereject.serve.pool import WorkPool
from facereject.serve.refusals import Refusal, encode, unusable
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
    shelf : ModelShelf
    pool : WorkPool
    limits : ServeLimits

    Attributes
    ----------
    frames : int
        Judged so far.
    """

    def __init__(self, socket: WebSocket, shelf: ModelShelf, pool: WorkPool, limits: ServeLimits) -> None:
        self._socket, self._shelf, self._pool, self._limits = socket, shelf, pool, limits
        self._wish = Wish()
        self._tracker: FaceTracker | None = None
        self._newest: tuple[int, float, bytes] | None = None
        self._asked: list[Any] = []
        self._received = 0
        self._something = asyncio.Event()
        self._start = time.monotonic()
        self.frames = 0

    async def run(self) -> None:
        """Answer until the client goes, or sends nothing for too long."""
        receiving = asyncio.create_task(self._receive())
        try:
            while not receiving.done():
                if not await self._wait(receiving):
                    await self._socket.close(_GONE, "no frame came for a while")
                    return
                await self._work()
            receiving.result()
        except (WebSocketDisconnect, asyncio.TimeoutError):
            pass
        finally:
            receiving.cancel()
            await asyncio.gather(receiving, return_exceptions=True)

    async def _wait(self, receiving: asyncio.Task[None]) -> bool:
        waiting = asyncio.create_task(self._something.wait())
        try:
            done, _ = await asyncio.wait(
                {waiting, receiving}, timeout=self._limits.idle_s, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            waiting.cancel()
        return bool(done)

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
                self._asked = [text]
            self._something.set()

    async def _work(self) -> None:
        self._something.clear()
        asked, self._asked = self._asked, []
        newest, self._newest = self._newest, None
        for text in asked:
            await self._send(await self._change(text))
        if newest is not None:
            await self._send(await self._judge(*newest))

    async def _change(self, text: str) -> dict[str, Any]:
        """Another model or target."""
        try:
            try:
                values = json.loads(text)
                wish = wish_of(values if isinstance(values, dict) else {"model": None})
            except (ValueError, RecursionError):
                raise unusable('a message must be JSON such as {"expected_error": 5}') from None
            described = await self._pool.run(self._use, wish)
        except Refusal as refusal:
            return {"error": refusal.sentence}
        return {"target": described}

    def _use(self, wish: Wish) -> dict[str, Any]:
        rejector = self._shelf.get(wish)
        if self._tracker is None or wish.scale != self._wish.scale:
            self._tracker = FaceTracker(rejector)
        else:
            # faces keep their numbers under another target
            self._tracker.use(rejector)
        self._wish = wish
        return describe_target(rejector, wish)

    async def _judge(self, number: int, time_s: float, data: bytes) -> dict[str, Any]:
        try:
            answer = await self._pool.run(self._judge_here, number, time_s, data)
        except Refusal as refusal:
            return {"frame": number, "error": refusal.sentence}
        except Exception:
            # what went wrong stays here, and the next frame may work
            return {"frame": number, "error": "the server failed on this frame"}
        self.frames += 1
        return answer

    def _judge_here(self, number: int, time_s: float, data: bytes) -> dict[str, Any]:
        start = time.perf_counter()
        image = decode_jpeg(data, self._limits.frame_pixels)
        if self._tracker is None:
            self._tracker = FaceTracker(self._shelf.get(self._wish))
        judged = self._tracker(Frame(number, time_s, image))
        height, width = image.shape[:2]
        return {
            "frame": number,
            "width": width,
            "height": height,
            "seconds": round(time.perf_counter() - start, 4),
            **frame_answer(judged.faces),
        }

    async def _send(self, answer: dict[str, Any]) -> None:
        # a client that does not read is sent away, so that nothing piles up for it
        await asyncio.wait_for(self._socket.send_text(encode(answer).decode()), self._limits.silent_s)


async def refuse_socket(socket: WebSocket, refusal: Refusal) -> None:
    """Turn a client away before its socket is open."""
    if socket.client_state == WebSocketState.CONNECTING:
        if "websocket.http.response" in socket.scope.get("extensions", {}):
            await socket.send_denial_response(refusal.response())
        else:
            await socket.close(_LATER, refusal.sentence[:120])
