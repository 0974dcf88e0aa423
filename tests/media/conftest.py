"""A folder to try things in."""

from __future__ import annotations

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def touch(folder):
    """Makes empty files in the current folder, with the folders they need."""

    def make(*names):
        for name in names:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")

    return make
