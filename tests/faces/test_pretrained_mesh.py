"""The models of the free stack: they load where the weights are, say what to type where not, and reject."""

from __future__ import annotations

import warnings
from importlib import resources

import numpy as np
import pytest
from typer.testing import CliRunner

from facereject._cli import app
from facereject.faces import FaceRejector
from facereject.faces.domain_monitor import why_not_compared
from facereject.faces.models.storage import pretrained_models
from facereject.faces.training.degrade import degrade
from facereject.faces.weights import WeightsError
from facereject.losses import landmark_nme
from facereject.tracking import FaceTracker

NAMES = ["mesh", "mesh-free"]


@pytest.fixture(params=NAMES)
def rejector(request, mesh_weights):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return FaceRejector.pretrained(request.param)


def test_names_come_in_the_order_of_use():
    names = pretrained_models()
    assert names[:2] == ["default", "thorough"]
    assert names[-2:] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_files_are_small(name):
    folder = resources.files("facereject") / "pretrained"
    assert (folder / f"{name}.safetensors").stat().st_size <= 1_500_000
    assert (folder / "maps" / "mesh-68.safetensors").stat().st_size <= 100_000


def test_a_good_face_is_accepted_and_a_ruined_one_is_not(rejector, astronaut):
    (face,) = rejector(astronaut)
    assert face.accepted
    assert face.landmarks.shape == (68, 2)
    covered = degrade(astronaut, face.landmarks, "occlusion", 1.0, random_state=3)[0]
    worse = rejector.assess_box(covered, face.box)
    assert worse.uncertainty > face.uncertainty
    assert worse.expected_error > face.expected_error


def test_faces_are_compared_with_those_it_was_calibrated_on(rejector):
    assert why_not_compared(rejector, 40) == ""


def test_ordinary_photos_are_unlike_the_studio_photos_of_mesh_free(mesh_weights, photographs):
    rejector = FaceRejector.pretrained("mesh-free")
    images = [sample.load() for sample in photographs]
    images += [image[:, ::-1] for image in images[:15]]
    assert rejector.check_domain([face for image in images for face in rejector(image)[:1]]).unlike


def test_it_ranks_errors_of_photographs(rejector, photographs):
    losses, uncertainty = [], []
    for index, sample in enumerate(photographs[::3]):
        image = sample.load()
        for kind in ("blur", "dark", "occlusion"):
            changed, truth = degrade(image, sample.landmarks, kind, 0.7, random_state=index)[:2]
            for face in rejector(changed)[:1]:
                losses.append(landmark_nme(truth, face.landmarks))
                uncertainty.append(face.uncertainty)
    order = np.argsort(uncertainty)
    half = len(order) // 2
    assert half > 10
    assert np.mean(np.array(losses)[order[:half]]) < 0.9 * np.mean(np.array(losses)[order[half:]])


def test_it_follows_faces_through_frames(rejector, astronaut):
    tracker = FaceTracker(rejector)
    tracks = set()
    for shift in range(0, 24, 3):
        for tracked in tracker.update(np.roll(astronaut, shift, axis=1)):
            tracks.add(tracked.track)
    assert tracks == {0}


def test_it_is_saved_and_loaded(rejector, astronaut, tmp_path):
    rejector.save(tmp_path / "model.safetensors")
    again = FaceRejector.load(tmp_path / "model.safetensors")
    assert again(astronaut)[0].uncertainty == rejector(astronaut)[0].uncertainty


@pytest.mark.parametrize("name", NAMES)
def test_without_weights_the_command_is_told(name, tmp_path, monkeypatch):
    monkeypatch.setenv("FACEREJECT_MODELS", str(tmp_path))
    with pytest.raises(WeightsError, match="facereject models get mesh"):
        FaceRejector.pretrained(name)
    result = CliRunner().invoke(app, ["info", name])
    assert result.exit_code == 2
    assert "facereject models get mesh" in result.stderr


def test_the_card_and_the_command_tell_the_licences(mesh_weights):
    card = (resources.files("facereject") / "pretrained" / "CARD-mesh.md").read_text(encoding="utf-8")
    for words in ("MIT", "Apache-2.0", "CC BY 4.0", "300-W"):
        assert words in card
    free, other = (CliRunner().invoke(app, ["info", name]).stdout for name in ("mesh-free", "mesh"))
    # lines may break anywhere between words
    assert "NO COMMERCIAL USE" not in " ".join(free.split())
    assert "CC BY 4.0" in " ".join(free.split())
    assert " ".join(other.split()).count("NO COMMERCIAL USE") == 2
