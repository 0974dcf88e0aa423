"""What a client asks for becomes a rejector; GET /api/model tells what it gives."""

from __future__ import annotations

import numpy as np
import pytest
from serving import pixels, running
from starlette.exceptions import HTTPException

from facereject.faces import FaceRejector
from facereject.metrics import risk_coverage_curve
from facereject.serve.models import ModelRegistry, ModelRequest


def test_the_model_tells_its_curve_and_where_the_target_stands(server, rejector):
    answer = server.client.get("/api/model").json()
    calibration = rejector.calibration
    truth = risk_coverage_curve(calibration.losses, calibration.uncertainty)
    assert (answer["name"], answer["models"]) == ("first", ["first", "thorough"])
    assert answer["n_points"] == 68
    assert answer["formats"][:2] == ["csv", "jsonl"]
    for point in answer["curve"]:
        place = int(np.argmin(np.abs(truth.coverage - point["coverage"])))
        assert point["error"] == pytest.approx(truth.risk[place])
    assert answer["curve"][-1]["coverage"] == 1.0
    target = answer["target"]
    assert target["kind"] == rejector.target.kind
    assert target["coverage"] == pytest.approx(rejector.selector.coverage_)
    accepted = calibration.uncertainty <= target["threshold"]
    # the face at the threshold may count in part
    one_face = calibration.losses.max() / accepted.sum()
    assert target["error"] == pytest.approx(calibration.losses[accepted].mean(), abs=one_face)


def test_a_target_tells_what_it_gives(server, rejector):
    calibration = rejector.calibration
    target = server.client.get("/api/model?expected_error=3").json()["target"]
    accepted = calibration.expected_error(calibration.uncertainty) <= 3
    assert target["coverage"] == pytest.approx(accepted.mean())
    assert target["error"] == pytest.approx(calibration.losses[accepted].mean())
    assert target["words"] == "expected error at most 3 %"
    everything = server.client.get("/api/model?coverage=1").json()["target"]
    assert (everything["accepts_all"], everything["threshold"], everything["coverage"]) == (True, None, 1.0)
    nothing = server.client.get("/api/model?expected_error=0").json()["target"]
    assert (nothing["coverage"], nothing["error"]) == (0.0, None)


def test_a_model_that_knows_no_regions(photo_jpeg):
    with running(FaceRejector.pretrained("dlib")) as server:
        assert server.client.get("/api/model").json()["regions"] == []
        answer = server.client.post("/api/score?region=eyes", content=photo_jpeg)
    assert answer.status_code == 422
    assert "does not tell the error of each point" in answer.json()["error"]


def test_a_region_decides_alone(rejector, photo_jpeg):
    with running(rejector) as server:
        assert server.client.get("/api/model").json()["regions"][:2] == ["eyes", "mouth"]
        for region in ("eyes", "mouth", "eyes,mouth"):
            answer = server.client.post(f"/api/score?region={region}", content=photo_jpeg).json()
            (face,) = rejector.for_region(region)(pixels(photo_jpeg))
            (found,) = answer["faces"]
            assert found["uncertainty"] == pytest.approx(face.uncertainty)
            assert found["expected_error"] == pytest.approx(face.expected_error)
        unknown = server.client.post("/api/score?region=hat", content=photo_jpeg)
    assert unknown.status_code == 422
    assert "regions must be among" in unknown.json()["error"]


def test_others_are_loaded_once_and_only_when_asked_for(rejector):
    loaded = []

    def load():
        loaded.append(1)
        return rejector

    models = ModelRegistry("mine", rejector, {"other": load, "mine": load})
    assert models.names == ["mine", "other"]
    assert models.get(ModelRequest()) is rejector
    assert not loaded
    models.get(ModelRequest("other"))
    models.get(ModelRequest("other", "coverage", 0.5))
    assert loaded == [1]


@pytest.mark.parametrize(
    "values", [{"model": 3}, {"cost": "x"}, {"cost": True}, {"cost": "inf"}, {"cost": 1, "coverage": 1}]
)
def test_requests_that_make_no_sense(values):
    with pytest.raises(HTTPException) as error:
        ModelRequest.parse(values)
    assert error.value.status_code == 422
