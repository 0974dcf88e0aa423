"""``python -m facereject`` is the command ``facereject``."""

from facereject._cli import main

if __name__ == "__main__":
    main()
