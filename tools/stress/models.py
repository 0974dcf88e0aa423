"""Damaged and forged model files: none is believed."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import facereject
from facereject.faces import FaceRejector
from facereject.faces.models.storage import MODEL_KIND
from facereject.modelfile import ModelFileError, read_model, write_model
from tools.stress.mutations import flipped, mutated
from tools.stress.trial import Trial

PRETRAINED = Path(facereject.__file__).parent / "pretrained"


def damaged_models(trial: Trial, folder: Path, count: int, rng: random.Random) -> None:
    """``count`` shipped models with changed bytes, then forgeries with a right digest and wrong content."""
    warnings.simplefilter("ignore")
    originals = [path.read_bytes() for path in sorted(PRETRAINED.glob("*.safetensors"))]
    path = folder / "model.safetensors"
    for number in range(count):
        if not trial.goes_on():
            return
        data = originals[number % len(originals)]
        # one bit is what a disk does; several places what an enemy tries
        changed = flipped(data, rng) if number % 2 else mutated(data, rng, rng.choice(originals))
        if changed in originals:
            continue
        path.write_bytes(changed)
        trial.check(_is_refused(path), f"damaged model {number} was believed")
    for name, header, arrays in _forgeries(PRETRAINED / "default.safetensors"):
        write_model(path, MODEL_KIND, header, arrays)
        trial.check(_is_refused(path), f"forged model was believed: {name}")


def _is_refused(path: Path) -> bool:
    try:
        # cheaper than loading, and refuses every damaged file
        read_model(path, MODEL_KIND, None)
        FaceRejector.load(path, predictor=_no_predictor)
    except ModelFileError:
        return True
    return False


def _no_predictor(image: Any, box: Any) -> Any:
    return np.zeros((68, 2))


def _forgeries(path: Path) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    model = read_model(path, MODEL_KIND, None)
    plain = {name: value for name, value in model.header.items() if name not in ("format", "kind")}
    for changes in (
        {"detector": {"upsample": 99}},
        {"detector": {"threshold": 1e6}},
        {"detector": {"min_face": -1}},
        {"detector": {"run": "this"}},
        {"target": {"kind": "max_error", "value": 1e400}},
        {"target": {"kind": "luck", "value": 1}},
        {"hog": None},
        {"score": "neural"},
        {"score": ["trees"]},
        {"stability": {"shift": 1e9}},
        {"info": "text"},
    ):
        # infinity is no JSON: what cannot be written cannot be loaded either
        text = json.dumps(changes).replace("Infinity", "1" + "0" * 400)
        yield text[:60], plain | json.loads(text), model.arrays
    yield "an array more", plain, model.arrays | {"more": np.zeros(3)}
    chain = np.arange(1, 501, dtype=np.int32)
    trees = {
        "roots": np.zeros(1, np.int32),
        "feature": np.append(np.zeros(500, np.int32), np.int32(-1)),
        "threshold": np.zeros(501),
        "left": np.append(chain, np.int32(0)),
        "right": np.append(chain, np.int32(0)),
    }
    kept = {name: array for name, array in model.arrays.items() if name.startswith("calibration")}
    yield "an endless tree", plain | {"score": "trees"}, trees | kept
