"""The way of a photo to its row stays short."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_photo_becomes_a_row_through_at_most_25_files():
    command = [sys.executable, "tools/count_files.py", "photo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = re.match(
        r"photo: (\d+) files for the whole run, (\d+) for one photo, (\d+) in one dir", done.stdout
    )
    whole, one, chain = map(int, found.groups())
    assert 5 < chain <= 25
    assert chain <= one < whole
    files = [line.strip() for line in done.stdout.splitlines()[1:]]
    assert len(files) == one
    assert all((ROOT / "facereject" / name).is_file() for name in files)
    assert {"pipeline/task.py", "faces/rejector.py", "pipeline/store.py", "tables/packing.py"} <= {*files}
