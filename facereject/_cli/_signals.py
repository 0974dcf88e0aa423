"""How commands are interrupted: by Ctrl-C, or by SIGTERM, as service managers and clusters stop jobs."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator

# timeout(1) and shells that stop a whole group send the signal twice; the second one means nothing new
_SAME_REQUEST_S = 5.0


class Terminated(KeyboardInterrupt):
    """SIGTERM: work ends as cleanly as on Ctrl-C, only the exit code tells them apart."""


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """128 and the number of the signal, as shells have it: 143 for SIGTERM, 130 for Ctrl-C."""
    return 128 + (signal.SIGTERM if isinstance(interrupt, Terminated) else signal.SIGINT)


@contextlib.contextmanager
def terminate_like_ctrl_c() -> Iterator[None]:
    """Within the context SIGTERM raises `Terminated`; outside of the main thread nothing is changed."""
    raised: float | None = None

    def interrupt(number: int, frame: object) -> None:
        nonlocal raised
        now = time.monotonic()
        if raised is not None and now - raised < _SAME_REQUEST_S:
            return
        raised = now
        raise Terminated

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        # once asked to end, the process is on its way out and its exit code is to be told
        signal.signal(signal.SIGTERM, before if raised is None else signal.SIG_IGN)
