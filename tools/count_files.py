"""Count the files of the package that a photo or a video passes through on its way to a row of a table.

python tools/count_files.py                      photos of scikit-image, then a video made of one
python tools/count_files.py photo --calls        the functions, too

Runs ``facereject score A B -o faces.csv`` in this process (for videos ``score_files``, as the command would
start workers) and notes the files whose functions are called, in order. Imports do not count. Three numbers
are printed: files of the whole run (options, loading the model, inputs, table, report); files that the second
input alone passes through; and files in one direction: the longest chain of calls from the command to the
innermost function.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import PIL.Image
import skimage.data

import facereject

PACKAGE = str(Path(facereject.__file__).parent) + os.sep
#: executes modules: what is called below it belongs to an import
_IMPORT = "_call_with_frames_removed"
#: its return is the end of an input
_LAST = "Store.end_input"


class Trace:
    """The functions of the package that are called while it is active, by file."""

    def __init__(self) -> None:
        self.whole: dict[str, dict[str, None]] = {}
        self.second: dict[str, dict[str, None]] = {}
        self.chain: list[str] = []
        self._importing = self._ended = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if code.co_name == _IMPORT:
            self._importing += {"call": 1, "return": -1}.get(event, 0)
        elif code.co_filename.startswith(PACKAGE) and not self._importing:
            if event == "call":
                for found in (self.whole, self.second)[: 2 if self._ended == 1 else 1]:
                    found.setdefault(_name(code.co_filename), {})[code.co_qualname] = None
                chain = _files_above(frame)
                self.chain = max(self.chain, chain, key=len)
            elif event == "return" and code.co_qualname == _LAST:
                self._ended += 1


def _name(path: str) -> str:
    return Path(path.removeprefix(PACKAGE)).as_posix()


def _files_above(frame: FrameType | None) -> list[str]:
    """The files of the package on the stack, each once, the outermost first."""
    names: dict[str, None] = {}
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            names[_name(frame.f_code.co_filename)] = None
        frame = frame.f_back
    return [*names][::-1]


def score(kind: str, inputs: list[str], table: str) -> None:
    """Score photos by the command, and videos by its function."""
    from facereject._cli import main

    if kind == "video":
        facereject.score_files(inputs, table)
        return
    sys.argv = ["facereject", "score", *inputs, "-o", table, "--quiet"]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise


def make_inputs(kind: str, folder: str) -> list[str]:
    """Two photos with a face, or two short videos of one."""
    from facereject.outputs import VideoWriter

    image = skimage.data.astronaut()
    paths = [os.path.join(folder, f"{name}.{'jpg' if kind == 'photo' else 'mp4'}") for name in "ab"]
    for path in paths:
        if kind == "photo":
            PIL.Image.fromarray(image).save(path)
            continue
        with VideoWriter(path, fps=25, size=(512, 512)) as writer:
            for _ in range(10):
                writer.write(image)
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kinds", nargs="*", help="photo, video; default: both")
    parser.add_argument("--calls", action="store_true", help="show the functions")
    options = parser.parse_args()
    for kind in options.kinds or ["photo", "video"]:
        trace = Trace()
        with tempfile.TemporaryDirectory() as folder:
            inputs = make_inputs(kind, folder)
            # threads decode videos
            threading.setprofile(trace)
            sys.setprofile(trace)
            try:
                score(kind, inputs, os.path.join(folder, "faces.csv"))
            finally:
                sys.setprofile(None)
                threading.setprofile(None)
        print(
            f"{kind}: {len(trace.whole)} files for the whole run, {len(trace.second)} for one {kind}, "
            f"{len(trace.chain)} in one direction ({' > '.join(trace.chain)})"
        )
        for file, functions in trace.second.items():
            print(f"  {file}" + (f": {', '.join(functions)}" if options.calls else ""))


if __name__ == "__main__":
    main()
