"""The command ``facereject``, also as ``python -m facereject``."""

from facereject._signals import exit_at_once


def main() -> None:
    """Entry point of the console script."""
    # before anything else is imported: an interrupt in the middle of an import would end in a traceback
    exit_at_once()

    from facereject._cli import main

    main()


if __name__ == "__main__":
    main()
