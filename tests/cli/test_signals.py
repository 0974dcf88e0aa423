"""Interruptions and extreme values: an exit code and one sentence, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def test_output_into_a_full_device_is_one_sentence():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "facereject", "info"]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr == "stdout cannot be written: No space left on device\n"


def test_listing_the_commands_imports_no_library():
    code = (
        "import sys; sys.argv = ['facereject', '--help']\n"
        "from facereject._cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([name for name in ('cv2', 'dlib', 'sklearn', 'scipy') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "arguments",
    [
        ["score", "photos", "--timeout", "1e308"],
        ["score", "photos", "--timeout", "nan"],
        ["webcam", "--headless", "--camera", "9" * 20],
        ["webcam", "--headless", "--camera", str(2**31)],
    ],
)
def test_extreme_values_are_one_sentence(photos, run, arguments):
    result = run(*arguments)
    assert result.exit_code in (1, 2)
    assert len(result.stderr.splitlines()) == 1
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("address", ["garbage", "tcp://[::1", "tcp://127.0.0.1:0"])
def test_what_is_no_scheduler_is_one_sentence(photos, work, address):
    # objects of Dask that are deleted at exit say what they like
    command = [sys.executable, "-m", "facereject", "score", "photos", "-o", "t.csv", "--engine", "dask"]
    done = subprocess.run([*command, "--scheduler", address], cwd=work, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("no Dask scheduler answers at")


def test_verbose_shows_log_messages(photos, run, stub):
    import logging

    before = list(logging.getLogger("facereject").handlers)
    try:
        assert run("score", "photos", "-o", "t.csv", "--verbose").exit_code == 0
        assert len(logging.getLogger("facereject").handlers) == len(before) + 1
    finally:
        logging.getLogger("facereject").handlers[:] = before


def test_deprecated_names_are_told_once():
    code = (
        "import sys, warnings; sys.argv = ['facereject', 'info']\n"
        "import facereject._cli.info as info\n"
        "from facereject._deprecation import warn_deprecated\n"
        "import facereject._cli as cli\n"
        "real = cli.make_app\n"
        "def make(*args, **options):\n"
        "    for _ in range(3): warn_deprecated('old', replacement='new', removed_in='9.9')\n"
        "    warnings.warn('noise of a library')\n"
        "    raise SystemExit(0)\n"
        "cli.make_app = make\n"
        "cli.main()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stderr == ("Warning: old is deprecated and will be removed in facereject 9.9; use new\n")


SIGNALLED = """
import os, signal, sys, time, weakref
sys.argv = ["facereject", "info", "default"]
import facereject._cli.info as info
from facereject.__main__ import main

class Thing:
    pass

def in_an_import():
    # as C extensions do
    try:
        import signalled
    except KeyboardInterrupt:
        raise ImportError("initialization failed") from None

def in_a_callback():
    thing = Thing()
    reference = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.{number}))
    del thing

def load(*args, **options):
    {place}()
    time.sleep(60)

info.load_rejector = load
main()
"""


@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
@pytest.mark.parametrize("place", ["in_an_import", "in_a_callback"])
def test_interrupts_in_odd_places(tmp_path, number, code, place):
    (tmp_path / "signalled.py").write_text(f"import os, signal; os.kill(os.getpid(), signal.{number})")
    script = SIGNALLED.format(number=number, place=place)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stderr) == (code, "Interrupted.\n")
