"""The page of other predictors: its figures against other implementations, and that it can be written."""

from __future__ import annotations

import json
from typing import ClassVar

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from facereject.metrics import aurc
from tools.reproduce import other_predictors, other_predictors_page


@pytest.fixture
def page(monkeypatch):
    # intervals need not be right here
    monkeypatch.setattr(other_predictors_page, "_RESAMPLES", 10)
    return other_predictors_page


def stored(rng, name, *, own=True, n=120):
    losses = rng.gamma(3, 2, n)
    good = losses + rng.normal(0, 1, n)
    return {
        "predictor": name,
        "models": {"default": "0123456789abcdef"},
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


class TestWhatIsKnown:
    """What a file from before spares the next run."""

    DIGESTS: ClassVar = {"default": "a", "thorough": "b"}
    LOSSES: ClassVar = [1.5, 2.5]

    @pytest.fixture
    def tool(self):
        return other_predictors

    @pytest.fixture
    def before(self, tool):
        by_model = {"default": [1.0, 2.0], "thorough": [3.0, 4.0]}
        parts = dict.fromkeys(("uncertainty", "expected", "per_point"), by_model)
        trained = {tool.RETRAINED: [0.1, 0.2], tool.FROM_NOTHING: [0.3, 0.4]}
        return {
            "models": self.DIGESTS,
            "hog": {"cells": 2},
            "losses": self.LOSSES,
            "trained": trained,
            **parts,
        }

    def known(self, tool, before, digests, losses=LOSSES, cells=2):
        return tool.Known(before, digests).of(np.array(losses), {"cells": cells})

    def test_only_what_rests_on_a_changed_model_is_made_again(self, tool, before):
        found = self.known(tool, before, {"default": "a", "thorough": "new"})
        assert found["uncertainty"] == found["expected"] == found["per_point"] == {"default": [1.0, 2.0]}
        assert set(found["trained"]) == {tool.RETRAINED, tool.FROM_NOTHING}
        found = self.known(tool, before, {"default": "new", "thorough": "b"})
        assert set(found["uncertainty"]) == {"thorough"}
        assert found["trained"] == {tool.FROM_NOTHING: [0.3, 0.4]}

    def test_other_features_need_another_score_from_nothing(self, tool, before):
        assert set(self.known(tool, before, self.DIGESTS, cells=3)["trained"]) == {tool.RETRAINED}

    @pytest.mark.parametrize("losses", [[1.5, 2.6], [1.5], [1.5, 2.5, 3.5]])
    def test_other_landmarks_make_all_of_it_void(self, tool, before, losses):
        assert not any(self.known(tool, before, self.DIGESTS, losses).values())

    def test_without_a_file_nothing_is_known(self, tool):
        assert not any(self.known(tool, {}, self.DIGESTS).values())
