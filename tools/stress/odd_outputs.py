"""Outputs that are no files: devices, pipes, sockets and folders stay what they are, and so do inputs."""

from __future__ import annotations

import os
import random
import shutil
import socket
import stat
from collections.abc import Callable
from itertools import product
from pathlib import Path

from typer.testing import CliRunner

from tools.stress.stub import write_photos
from tools.stress.trial import Trial

# {X} is the output
_COMMANDS = (
    "score photos -o {X}.csv",
    "filter photos -o {X}.jsonl",
    "filter photos --timeline {X}.csv",
    "filter photos --contact-sheet {X}.jpg",
    "filter photos --accepted {X}",
    "filter photos --rejected {X} --move",
    "filter photos --annotated {X}",
    "filter photos --crops {X}",
    "filter clip.avi --save {X}.mp4",
    "assess points.csv --images photos -o {X}.csv",
    "train points.csv -o {X}.safetensors",
    "calibrate default points.csv -o {X}.safetensors",
    "evaluate default points.csv --report {X}",
    "webcam --camera photos/0001.png --headless --max-frames 1 -o {X}.csv",
    "webcam --camera clip.avi --headless --max-frames 1 --record {X}.mp4",
    "predictions report predictions.csv -o {X}.html",
    "predictions threshold predictions.csv --max-risk 0.4 -o {X}.json",
    "demo -o {X}",
)


def odd_outputs(trial: Trial, folder: Path, count: int, rng: random.Random) -> None:
    """``count`` of all pairs of an output and what is in its place, with and without --overwrite."""
    from facereject._cli import app

    os.environ["COLUMNS"] = "200"
    here = Path.cwd()
    os.chdir(folder)
    try:
        _write_inputs()
        cases = list(product(_COMMANDS, _KINDS, ("", " --overwrite")))
        rng.shuffle(cases)
        for command, kind, overwrite in cases[:count]:
            if not trial.goes_on():
                return
            words = command.split()
            (word,) = (word for word in words if "{X}" in word)
            place = Path(word.format(X="output"))
            if not _KINDS[kind](place):
                if os.path.lexists(place):
                    _remove(place)
                continue
            before, inputs = _state(place), _contents()
            arguments = [str(place) if each == word else each for each in words]
            result = CliRunner().invoke(app, [*arguments, *overwrite.split()])
            name = f"{command} on a {kind}{overwrite}"
            if result.exception is not None and not isinstance(result.exception, SystemExit):
                why = f"{type(result.exception).__name__}: {result.exception}"
            elif _contents() != inputs:
                why = "an input has changed"
            elif kind not in _REPLACED and _state(place) != before:
                why = "what was there has changed"
            elif kind not in _REPLACED and result.exit_code == 0 and "--save" not in words:
                # --save takes a folder for several videos
                why = "it succeeded"
            else:
                why = ""
            trial.check(not why, f"{name}: {why}; {result.output[-200:]!r}")
            _remove(place)
    finally:
        os.chdir(here)


def _write_inputs() -> None:
    import cv2
    import numpy as np

    write_photos(Path("photos"), 3)
    values = ",".join(str(k * 37 % 7) for k in range(136))
    axes = ",".join(f"{axis}{number}" for number in range(68) for axis in "xy")
    lines = "\n".join(f"photos/{name},{values}" for name in ("0001.png", "0002.png"))
    Path("points.csv").write_text(f"image,{axes}\n{lines}\n")
    rows = "\n".join(f"{number % 3},{number % 2},0.{number}" for number in range(10, 90))
    Path("predictions.csv").write_text(f"y_true,y_pred,confidence\n{rows}\n")
    writer = cv2.VideoWriter("clip.avi", cv2.VideoWriter.fourcc(*"MJPG"), 25.0, (64, 48))
    for level in range(5):
        writer.write(np.full((48, 64, 3), 40 * level, np.uint8))
    writer.release()


def _device(place: Path) -> bool:
    try:
        os.mknod(place, stat.S_IFCHR | 0o666, os.makedev(1, 7))
    except PermissionError:
        # only root may
        return False
    return True


def _pipe(place: Path) -> bool:
    os.mkfifo(place)
    return True


def _socket(place: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
    return True


def _full_folder(place: Path) -> bool:
    place.mkdir()
    (place / "precious").write_text("x")
    # outputs without a suffix are folders
    return bool(place.suffix)


def _link_to_device(place: Path) -> bool:
    place.symlink_to("/dev/full")
    # other links than those of tables are replaced
    return place.suffix in (".csv", ".jsonl")


def _link_to_input(place: Path) -> bool:
    place.symlink_to(Path("photos", "0001.png").absolute())
    return True


def _second_name_of_input(place: Path) -> bool:
    place.hardlink_to(Path("photos", "0001.png"))
    return True


_KINDS: dict[str, Callable[[Path], bool]] = {
    "device": _device,
    "pipe": _pipe,
    "socket": _socket,
    "full folder": _full_folder,
    "link to a device": _link_to_device,
    "link to an input": _link_to_input,
    "second name of an input": _second_name_of_input,
}

# a name of a file; the file itself stays
_REPLACED = ("link to an input", "second name of an input")


def _state(place: Path) -> tuple[object, ...]:
    status = os.lstat(place)
    inside = sorted(os.listdir(place)) if stat.S_ISDIR(status.st_mode) else []
    return status.st_ino, status.st_mode, status.st_rdev, inside


def _contents() -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in (*Path("photos").rglob("*.png"), *Path().glob("p*.csv"), Path("clip.avi"))
    }


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink()
