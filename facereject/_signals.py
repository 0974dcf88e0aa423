"""How a working command is interrupted: by Ctrl-C, or by SIGTERM, as service managers and clusters stop jobs.

Both raise an exception, so that the command leaves whole files. While the command itself is loaded, see
`facereject.__main__`.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

# timeout(1) and shells that stop a whole group send the signal twice; the second one means nothing new
_SAME_REQUEST_S = 5.0

# until a signal that could not raise its exception is tried again
_AGAIN_S = 0.001


class Terminated(KeyboardInterrupt):
    """SIGTERM: work ends as cleanly as on Ctrl-C, only the exit code tells them apart."""


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """128 and the number of the signal, as shells have it: 143 for SIGTERM, 130 for Ctrl-C."""
    return 128 + (signal.SIGTERM if isinstance(interrupt, Terminated) else signal.SIGINT)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Within the context, Ctrl-C raises KeyboardInterrupt and SIGTERM `Terminated`.

    Not in the middle of an import, which can turn the exception into any other: then when it is done.
    """
    terminated: float | None = None

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal terminated
        if _can_wait and _is_importing(frame):
            _try_again(number)
            return
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        now = time.monotonic()
        if terminated is None or now - terminated >= _SAME_REQUEST_S:
            terminated = now
            raise Terminated

    def again(_: int, frame: FrameType | None) -> None:
        if _pending:
            interrupt(_pending.pop(), frame)

    def unraisable(failure: Any) -> None:
        nonlocal terminated
        if _can_wait and isinstance(failure.exc_value, KeyboardInterrupt):
            # lost in a destructor or in a callback of a weak reference
            terminated = None
            _try_again(exit_code(failure.exc_value) - 128)
        else:
            earlier(failure)

    earlier, sys.unraisablehook = sys.unraisablehook, unraisable
    handlers: dict[signal.Signals, Any] = {signal.SIGINT: interrupt, signal.SIGTERM: interrupt}
    if _can_wait:
        handlers[signal.SIGALRM] = again
    replaced = {number: _handle(number, handler) for number, handler in handlers.items()}
    try:
        yield
        again(0, None)
    finally:
        if _pending:
            # the work has ended in another way
            _pending.clear()
            signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = earlier
        for number, handler in replaced.items():
            # another handler may have been set inside on purpose
            if signal.getsignal(number) is handlers[number]:
                # a process that was asked to end is on its way out, and its exit code is to be told
                ended = number == signal.SIGTERM and terminated is not None
                _handle(number, signal.SIG_IGN if ended else handler)


# Windows has no timers
_can_wait = hasattr(signal, "setitimer")

# the signal that is tried again
_pending: list[int] = []


def _try_again(number: int) -> None:
    _pending[:] = [number]
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _handle(number: signal.Signals, handler: Any) -> Any:
    """Set a handler and return the one before; a signal that is ignored, as in the background, stays so."""
    before = signal.getsignal(number)
    if before is not signal.SIG_IGN:
        # only the main thread may
        with contextlib.suppress(ValueError):
            signal.signal(number, handler)
    return before
