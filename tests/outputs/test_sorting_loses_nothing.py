"""Whatever is sorted, linked, copied and moved in whatever order: no content ever disappears."""

from __future__ import annotations

import os
import random
import stat
from collections import Counter

import pytest
from feeding import face, feed, photo, prepared

from facereject.outputs import SortedFiles
from facereject.outputs import sorted_files as sorting
from facereject.sources.inputs import expand_inputs

FOLDERS = ["photos", "photos/a", "photos/b", "good", "good/a", "bad", "elsewhere"]
NAMES = ["1.jpg", "2.jpg", "3.jpg"]
DECISIONS = [[photo(face())], [photo(face(False))]]


def contents(top):
    """What regular files hold, and how many files hold it; links are not followed."""
    found = Counter()
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                with open(path) as file:
                    found[file.read()] += 1
    return found


def make_tree(rng):
    """Files, some equal, some hard links, some links to files and folders, some in the way."""
    for folder in FOLDERS:
        if rng.random() < 0.8:
            os.makedirs(folder, exist_ok=True)
    os.makedirs("photos/a", exist_ok=True)
    made = []
    for _ in range(rng.randint(4, 9)):
        path = os.path.join(rng.choice(FOLDERS), rng.choice(NAMES))
        if os.path.lexists(path) or not os.path.isdir(os.path.dirname(path)):
            continue
        kind = rng.choice(["file", "file", "file", "symlink", "hard link", "copy"])
        if kind == "file" or not made:
            with open(path, "w") as file:
                file.write(path if rng.random() < 0.8 else "equal")
        elif kind == "symlink":
            os.symlink(os.path.abspath(rng.choice(made)), path)
        elif kind == "hard link":
            os.link(rng.choice(made), path, follow_symlinks=False)
        else:
            with open(rng.choice(made)) as source, open(path, "w") as file:
                file.write(source.read())
        made.append(path)
    for _ in range(rng.randint(0, 3)):
        link, target = (
            rng.choice(["photos/l", "good/a", "bad/b", "good", "bad", "photos/b"]),
            rng.choice(FOLDERS),
        )
        if (
            not os.path.lexists(link)
            and os.path.isdir(target)
            and os.path.isdir(os.path.dirname(link) or ".")
        ):
            os.symlink(os.path.abspath(target), link)


def sort_once(rng):
    """One run with random options over random inputs, as the tool does it."""
    arguments = rng.choice(
        [["photos"], ["photos"], ["photos/a"], ["photos/a", "photos/b"], ["elsewhere", "photos"]]
    )
    try:
        sort = SortedFiles(
            rng.choice(["good", "good", None, "photos/good"]),
            rng.choice(["bad", "bad", None]),
            rng.choice([*sorting.MODES]),
        )
        prepared(sort, arguments)
        inputs = [item.path for item in expand_inputs(arguments)]
    except ValueError:
        return
    for path in inputs:
        if not sort.holds(path):
            feed(sort, path, rng.choice(DECISIONS), stamp="" if rng.random() < 0.2 else None)


def other_disk(monkeypatch, rng):
    """Sometimes hard links are refused, as between disks or on some of them."""
    link, refused = os.link, rng.choice(["never", "between folders", "always"])

    def refusing(source, target, **options):
        if refused == "always" or (refused != "never" and ".facereject-" not in source):
            raise OSError(18, "Invalid cross-device link")
        link(source, target, **options)

    monkeypatch.setattr(sorting.os, "link", refusing)


@pytest.mark.parametrize("seed", range(150))
def test_no_content_disappears(tmp_path, monkeypatch, seed):
    rng = random.Random(seed)
    monkeypatch.chdir(tmp_path)
    make_tree(rng)
    for _ in range(rng.randint(1, 5)):
        before = contents(tmp_path)
        with monkeypatch.context() as patch:
            other_disk(patch, rng)
            sort_once(rng)
        after = contents(tmp_path)
        assert set(before) <= set(after)
        assert not [
            name for _, _, names in os.walk(tmp_path) for name in names if "facereject-partial" in name
        ]
