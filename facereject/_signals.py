"""How commands are interrupted: by Ctrl-C, or by SIGTERM, as service managers and clusters stop jobs.

While modules load, the process ends at once: nothing has been written yet, and an exception in the middle of
an import can become any other. Once a command works, an exception is raised, so that it leaves whole files.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

# timeout(1) and shells that stop a whole group send the signal twice; the second one means nothing new
_SAME_REQUEST_S = 5.0

# what is removed where the process ends at once
_at_exit: list[Callable[[], object]] = []


class Terminated(KeyboardInterrupt):
    """SIGTERM: work ends as cleanly as on Ctrl-C, only the exit code tells them apart."""


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """128 and the number of the signal, as shells have it: 143 for SIGTERM, 130 for Ctrl-C."""
    return 128 + (signal.SIGTERM if isinstance(interrupt, Terminated) else signal.SIGINT)


def before_exit(clean: Callable[[], object]) -> None:
    """Call a function, too, where a signal ends the process at once."""
    _at_exit.append(clean)


def exit_at_once() -> None:
    """From now on, both signals end the process with a word and its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        _handle(number, _leave)


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """Within the context, in which modules and models are loaded, both signals end the process at once."""
    with _handled({signal.SIGINT: _leave, signal.SIGTERM: _leave}):
        yield


@contextlib.contextmanager
def interruptible() -> Iterator[list[KeyboardInterrupt]]:
    """Within the context, Ctrl-C raises KeyboardInterrupt and SIGTERM `Terminated`.

    Yields
    ------
    list of KeyboardInterrupt
        What was raised: an interrupt in the middle of an import can come out as another exception.
    """
    raised: list[KeyboardInterrupt] = []
    ended: float | None = None

    def interrupt(number: int, frame: object) -> None:
        raised.append(KeyboardInterrupt())
        raise raised[-1]

    def terminate(number: int, frame: object) -> None:
        nonlocal ended
        now = time.monotonic()
        if ended is not None and now - ended < _SAME_REQUEST_S:
            return
        ended = now
        raised.append(Terminated())
        raise raised[-1]

    with _handled({signal.SIGINT: interrupt, signal.SIGTERM: terminate}):
        try:
            yield raised
        finally:
            if ended is not None:
                # the process is on its way out, and its exit code is to be told
                _handle(signal.SIGTERM, signal.SIG_IGN)


def _leave(number: int, frame: object) -> NoReturn:
    for clean in _at_exit:
        with contextlib.suppress(Exception):
            clean()
    with contextlib.suppress(OSError):
        os.write(2, b"Interrupted.\n")
    os._exit(128 + number)


@contextlib.contextmanager
def _handled(handlers: dict[signal.Signals, Any]) -> Iterator[None]:
    before = {number: _handle(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            # another handler may have been set inside on purpose
            if signal.getsignal(number) is handlers[number]:
                _handle(number, handler)


def _handle(number: signal.Signals, handler: Any) -> Any:
    """Set a handler and return the one before; a signal that is ignored, as in the background, stays so."""
    before = signal.getsignal(number)
    if before is not signal.SIG_IGN:
        # only the main thread may
        with contextlib.suppress(ValueError):
            signal.signal(number, handler)
    return before
