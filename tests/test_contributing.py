"""CONTRIBUTING.md: how to add a part, each by an example that runs as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import skimage.data
import skimage.io
from typer.testing import CliRunner

from facereject._cli import app

DOCUMENT = Path(__file__).parents[1] / "CONTRIBUTING.md"


def blocks() -> dict[str, str]:
    """The Python example of each heading."""
    text = DOCUMENT.read_text(encoding="utf-8")
    return dict(re.findall(r"^## (.*?)\n.*?^```python\n(.*?)^```", text, re.S | re.M))


@pytest.fixture
def photo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    image = skimage.data.astronaut()
    skimage.io.imsave("photo.jpg", image, check_contrast=False)
    points = {"photo.jpg": np.ones((68, 2)).tolist(), "other.jpg": np.ones((5, 2)).tolist()}
    Path("mine.json").write_text(json.dumps(points), encoding="utf-8")
    return image


def test_examples(photo, monkeypatch):
    monkeypatch.setattr(app, "registered_commands", list(app.registered_commands))
    names: dict = {"__name__": "contributing"}
    parts = blocks()
    # "Set-up and checks" has no Python example, so the first heading with one takes its place
    assert len(parts) == 7
    for heading, example in parts.items():
        exec(compile(example, f"CONTRIBUTING.md, {heading}", "exec"), names)

    # a linear function that follows exp(X[:, 0]) in order
    uncertainty = names["score"].predict(names["X"])
    assert np.corrcoef(uncertainty, names["X"][:, 0])[0, 1] > 0.95
    assert 0.6 < names["accepted"].mean() < 0.95
    for rejector in ("rejector", "averaged"):
        (face, *_) = names[rejector](photo)
        assert np.isfinite(face.uncertainty)
    assert names["sharpest"].best.expected_error > 0
    assert Path("faces.csv").read_text().count("photo.jpg") == 1
    assert [sample.photo for sample in names["dataset"]] == ["photo.jpg"]
    assert [problem.entry for problem in names["dataset"].problems] == ["other.jpg"]
    done = CliRunner().invoke(app, ["count", "photo.jpg"])
    assert (done.exit_code, done.stdout.strip()) == (0, "1")
    missing = CliRunner().invoke(app, ["count", "missing.jpg"])
    assert (missing.exit_code, missing.stderr.count("\n")) == (2, 1)
    assert missing.stderr.startswith("missing.jpg: ")


def test_every_part_has_an_example():
    headings = re.findall(r"^## (An? .*)$", DOCUMENT.read_text(encoding="utf-8"), re.M)
    assert headings == [
        "A risk", "A score", "A detector", "A landmark predictor", "An output", "A data set", "A command",
    ]  # fmt: skip
