"""Draw the pictures of README and docs/ anew, with the present models.

    python tools/docs/pictures.py             all; some minutes, and Chromium for serve and review
    python tools/docs/pictures.py demo filter

Look at each of them afterwards.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import PIL.Image

ROOT = Path(__file__).parents[2]


def demo() -> None:
    """docs/demo.jpg: the versions of one photo with their decisions."""
    from facereject import FaceRejector
    from facereject.demo.make import make_demo

    with tempfile.TemporaryDirectory() as folder:
        made = make_demo(folder, FaceRejector.pretrained())
        image = PIL.Image.open(made.picture).convert("RGB")
        image.save(ROOT / "docs" / "demo.jpg", quality=85, optimize=True)


def filter() -> None:
    """docs/filter.webp: the moving picture of README."""
    _run("tools/docs/readme_picture.py", "docs/filter.webp")


def serve() -> None:
    """docs/serve.jpg: the page in the browser."""
    _run("tools/docs/page_picture.py")


def review() -> None:
    """docs/review.jpg: the review page."""
    _run("tools/docs/review_picture.py")


def guarantees() -> None:
    """docs/guarantees_*.png."""
    _run("tools/bench/guarantees.py", "--pictures", "docs")


def _run(*command: str) -> None:
    subprocess.run([sys.executable, *command], cwd=ROOT, check=True)


PICTURES = {each.__name__: each for each in (demo, filter, serve, review, guarantees)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(PICTURES)}")
    names = parser.parse_args().names or [*PICTURES]
    for name in names:
        if name not in PICTURES:
            parser.error(f"{name}: must be one of {', '.join(PICTURES)}")
    for name in names:
        PICTURES[name]()
        print(f"{name}: {(PICTURES[name].__doc__ or '').partition(':')[0]}")


if __name__ == "__main__":
    main()
