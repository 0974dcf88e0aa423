"""The command ``facereject``, also as ``python -m facereject``."""

# the C part of `signal`, loaded with Python: importing `signal` itself takes milliseconds
import _signal  # type: ignore[import-not-found]
import os


def main() -> None:
    """Entry point of the console script."""
    # before anything else is imported: an interrupt in the middle of an import would end in a traceback
    _handle(_leave)

    import atexit

    # called last: while Python takes itself down, a signal would end the process without its exit code
    atexit.register(_handle, _signal.SIG_IGN)

    from facereject._cli import main

    main()


def _handle(handler: object) -> None:
    for number in (_signal.SIGINT, _signal.SIGTERM):
        # a command in the background ignores Ctrl-C
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, handler)


def _leave(number: int, frame: object) -> None:
    try:
        os.write(2, b"Interrupted.\n")
    finally:
        os._exit(128 + number)


if __name__ == "__main__":
    main()
