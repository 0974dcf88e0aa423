"""The list of scores: one entry serves training, model files, the command line and the card."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from facereject._cli import app
from facereject.faces.models import score_models
from facereject.faces.models.card import model_facts
from facereject.faces.models.scores import SCORES, array_specs, score_kind, score_model
from facereject.faces.rejector import FaceRejector
from facereject.faces.training.fit_score import fit_score


@pytest.mark.parametrize("name", [name for name in SCORES if name != "compact"])
def test_a_score_is_fitted_stored_and_restored(name, rng):
    features = rng.normal(size=(80, 6)).astype(np.float32)
    losses = np.exp(features[:, 0])
    fitted = fit_score(SimpleNamespace(features=features, losses=losses), name, 1.0, None)
    assert type(fitted).__name__ == score_kind(name).stored_as
    assert set(fitted.arrays()) == set(array_specs(fitted.kind))
    again = score_model(fitted.kind).from_arrays(fitted.arrays(), SimpleNamespace(n_features=6))
    np.testing.assert_array_equal(again(features), fitted(features))
    assert np.corrcoef(fitted(features), losses)[0, 1] > 0.3


@pytest.mark.parametrize("name", SCORES)
def test_a_score_is_in_the_help_and_on_the_card(name):
    rejector = FaceRejector.pretrained()
    rejector.info["score"] = name
    assert dict(model_facts(rejector))["score"].startswith(SCORES[name].card)
    result = CliRunner().invoke(app, ["train", "--help"], env={"COLUMNS": "300", "TERMINAL_WIDTH": "300"})
    assert f"{name}: {SCORES[name].help}" in " ".join(result.stdout.split())


def test_unknown_scores(tmp_path):
    with pytest.raises(ValueError, match="score must be one of sele, reg, compact, boosted; got 'neural'"):
        score_kind("neural")
    for kind in ("neural", None, ["linear"]):
        with pytest.raises(ValueError, match="score must be one of linear, compact, trees"):
            score_model(kind)
        assert array_specs(kind) == {}
    result = CliRunner().invoke(app, ["train", "x", "-o", str(tmp_path / "m"), "--score", "neural"])
    assert result.exit_code == 2
    assert result.stderr == "--score must be one of auto, sele, reg, compact, boosted; got neural\n"


def test_every_class_of_stored_scores_is_listed():
    classes = {
        name
        for name, value in vars(score_models).items()
        if hasattr(value, "from_arrays") and hasattr(value, "kind")
    }
    # adapted scores are made from another model, not chosen by name
    assert classes == {score.stored_as for score in SCORES.values()} | {"AdaptedScoreModel"}


def test_the_list_is_light():
    heavy = ("numpy", "dlib", "sklearn", "cv2")
    code = f"import sys, facereject.faces.models.scores; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
