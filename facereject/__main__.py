"""The command ``facereject``, also as ``python -m facereject``."""

import _signal  # type: ignore[import-not-found]
import atexit

from facereject import _exit_on_signals


def main() -> None:
    """Entry point of the console script."""
    _exit_on_signals()
    # called last: while Python shuts down, a signal would end the process without its exit code
    atexit.register(_ignore_signals)

    from facereject._cli import main

    main()


def _ignore_signals() -> None:
    for number in (_signal.SIGINT, _signal.SIGTERM):
        _signal.signal(number, _signal.SIG_IGN)


if __name__ == "__main__":
    main()
