"""Interruptions from the first instruction on: an exit code, one word, no traceback."""

from __future__ import annotations

import importlib
import os
import random
import signal
import subprocess
import sys
import time

import pytest

# says that it has begun, as a signal before that cannot be handled
BEGUN = (
    "from facereject._signals import exit_at_once; exit_at_once(); print('begun', flush=True); "
    "from facereject.__main__ import main; main()"
)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("seed", range(3))
def test_signals_in_the_first_second(photos, work, number, code, seed):
    delay = random.Random(f"{number}{seed}").uniform(0, 1)
    command = [sys.executable, "-c", BEGUN, "score", "photos", "-o", "t.csv", "--workers", "2"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=work, **pipes) as process:
        assert process.stdout.readline() == b"begun\n"
        time.sleep(delay)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    # a fast machine may have finished
    assert process.returncode in (code, 0), said
    assert b"Traceback" not in said
    if process.returncode:
        assert said.startswith(b"Interrupted")
        assert len(said.splitlines()) == 1


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
        ["score", "photos", "--engine", "dask", "--scheduler", "garbage"],
    ],
)
def test_extreme_values_are_one_sentence(photos, run, arguments):
    result = run(*arguments)
    assert result.exit_code in (1, 2)
    assert len(result.stderr.splitlines()) == 1
    assert "Traceback" not in result.stderr


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


def test_an_interrupt_that_an_import_turns_into_another_error(run, monkeypatch):
    def broken():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except KeyboardInterrupt:
            raise ImportError("initialization failed") from None

    monkeypatch.setattr(
        importlib.import_module("facereject._cli.info"), "load_rejector", lambda *_, **__: broken()
    )
    before = signal.getsignal(signal.SIGTERM)
    try:
        result = run("info", "default")
    finally:
        # a process that was asked to end ignores further requests, and so would those it starts
        signal.signal(signal.SIGTERM, before)
    assert (result.exit_code, result.stderr) == (143, "Interrupted.\n")
