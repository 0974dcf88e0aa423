"""The page of other predictors: its figures against other implementations, and that it can be written."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from facereject.metrics import aurc

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    from reproduction import other_predictors_page

    # intervals need not be right here
    monkeypatch.setattr(other_predictors_page, "_RESAMPLES", 10)
    return other_predictors_page


def stored(rng, name, *, own=True, n=120):
    losses = rng.gamma(3, 2, n)
    good = losses + rng.normal(0, 1, n)
    return {
        "predictor": name,
        "losses": losses.tolist(),
        "aside": (np.arange(n) % 2 == 0).tolist(),
        "photo": (np.arange(n) // 2).tolist(),
        "own": (-losses + rng.normal(0, 8, n)).tolist() if own else None,
        "uncertainty": {"default": good.tolist()},
        "expected": {"default": (losses * 2).tolist()},
        "per_point": {"default": point_facts(rng, losses[::2])},
        "trained": {"retrained": good.tolist(), "from nothing": good.tolist()},
    }


def point_facts(rng, losses):
    """As the page needs them of every face, and all points of all faces."""
    x = rng.gamma(3, losses[:, None], (len(losses), 68))
    y = x + rng.normal(size=x.shape)
    means = np.stack([each.mean(axis=1) for each in (x, y, x**2, y**2, x * y)], axis=1)
    return np.column_stack([np.full(len(losses), 0.75), means]).tolist()


def test_pooled_correlation_is_that_of_all_points(page, rng):
    x, y = rng.gamma(3, 2, (2, 30, 68))
    y += x
    means = np.stack([each.mean(axis=1) for each in (x, y, x**2, y**2, x * y)], axis=1)
    assert page._pooled(means) == pytest.approx(np.corrcoef(x.ravel(), y.ravel())[0, 1])


def test_auroc_is_that_of_scikit_learn(page, rng):
    bad, score = rng.random(200) < 0.2, np.round(rng.normal(size=200), 1)
    assert page._auroc(bad, score) == pytest.approx(roc_auc_score(bad, score))
    assert np.isnan(page._auroc(np.zeros(3, dtype=bool), np.arange(3)))


def test_the_share_runs_from_random_to_oracle(page, rng):
    losses = rng.gamma(3, 2, 400)
    assert page._share(losses, losses) == pytest.approx(1)
    assert page._share(losses, np.zeros(400)) == pytest.approx(0, abs=1e-12)
    score = losses + rng.normal(0, 3, 400)
    expected = (losses.mean() - aurc(losses, score)) / (losses.mean() - aurc(losses, losses))
    assert page._share(losses, score) == pytest.approx(expected)


def test_a_page_is_written(page, rng, tmp_path):
    folder = tmp_path / "raw" / "predictors"
    folder.mkdir(parents=True)
    for k, (name, own) in enumerate({"CFSS": False, "OpenFace CLM": True, "another": True}.items()):
        (folder / f"{k}.json").write_text(json.dumps(stored(rng, name, own=own)))
    text = page.write(tmp_path).read_text()
    assert "60 of AFW, 60" in " ".join(text.split())
    for heading in ("## CFSS", "## OpenFace CLM", "## another", "## All faces of AFW", "## How to add a row"):
        assert heading in text
    # an expected error of twice the loss is twice too large before calibration, and right after it
    (line,) = [line for line in text.splitlines() if line.startswith("| CFSS | `default`")]
    before, _, _, after, _, _ = (float(cell) for cell in line.split("|")[3:9])
    assert before == pytest.approx(2, abs=0.01)
    assert after == pytest.approx(1, abs=0.1)
    assert "| `default` | 0.75 (0.75–0.75) |" in text
    rows = [line for line in text.splitlines() if line.startswith("| OpenFace CLM |")]
    assert "–" not in rows[0]


def test_sys_path_is_as_before():
    assert str(TOOLS) not in sys.path
