"""The Python examples of the README run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import skimage.data
import skimage.io

from tools.docs.readme_commands import commands

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, flags=re.S)


def test_there_are_examples():
    assert len(EXAMPLES) == 3


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_runs(number, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    skimage.io.imsave("photo.jpg", skimage.data.astronaut(), check_contrast=False)
    names: dict = {}
    exec(compile(EXAMPLES[number], f"README example {number}", "exec"), names)
    if "rejector" in names:
        assert "True" in capsys.readouterr().out  # the face of the clean photo is accepted
    if "error" in names:
        everything = (names["model"].predict(names["X_test"]) != names["y_test"]).mean()
        assert names["error"] < everything / 2
        assert names["accepted"].mean() > 0.8
    if "selector" in names:
        assert "probability" in capsys.readouterr().out


def test_linked_files_exist():
    for link in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (Path(__file__).parents[1] / link).is_file(), link


def test_the_first_commands_set_up_and_try_it():
    found = commands(README, "somewhere")
    assert found == ["git clone 'somewhere' facereject && cd facereject", "make demo", "make test"]


def test_nothing_is_installed_from_a_registry_before_there_is_a_release():
    for line in README.splitlines():
        if "pip install facereject" in line:
            assert "After the release" in line
