"""The descriptions in docs/networks.md, run on networks of the same inputs and outputs as the public ones.

What is expected is what the published inference code does: the crop it makes, and where it takes the outputs
to. The weights themselves are in no package registry.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import cv2
import numpy as np
import pytest

from facereject.faces import Box
from facereject.faces.landmarks.network import NetworkLandmarks

onnx = pytest.importorskip("onnx")

PAGE = Path(__file__).parents[2] / "docs" / "networks.md"
DESCRIPTIONS = dict(re.findall(r"^\| ([^|]+?) \| `(\{.*\})` \|$", PAGE.read_text(encoding="utf-8"), re.M))

MEAN, STD = np.array([123.675, 116.28, 103.53]), np.array([58.395, 57.12, 57.375])
BOX = Box(60.0, 40.0, 90.0, 100.0)
CENTER, SIDE = np.array([105.0, 90.0]), 100.0
RNG = np.random.default_rng(0)


def photo():
    """A smooth image, which is the same however it is resampled."""
    y, x = np.mgrid[:220, :240]
    return np.stack([x, y, 255 - x // 2], axis=2).clip(0, 255).astype(np.uint8)


def square(image, side, size):
    """The square around the centre of the box, as RGB of the size of the input."""
    matrix = np.array([[size / side, 0, 0], [0, size / side, 0]])
    matrix[:, 2] = size / 2 - matrix[0, 0] * CENTER
    return cv2.warpAffine(image, matrix, (size, size)).astype(np.float64)


def pfld():
    """PFLD's camera script: a square of 1.1 times the longer side, BGR over 255, shares of the square."""
    out = RNG.uniform(0.2, 0.8, (98, 2))
    blob = square(photo(), 1.1 * SIDE, 112)[:, :, ::-1] / 255
    return blob, [("landms", out.reshape(1, 196))], CENTER - 0.55 * SIDE + out * 1.1 * SIDE


def insightface():
    """insightface.model_zoo.Landmark: 192 / (1.5 * longer side), RGB as it is, (out + 1) * 96."""
    out = RNG.uniform(-0.6, 0.6, (106, 2))
    scale = 192 / (1.5 * SIDE)
    return (
        square(photo(), 1.5 * SIDE, 192),
        [("fc1", out.reshape(1, 212))],
        (96 * (out + 1) - 96) / scale + CENTER,
    )


def rtmpose():
    """rtmlib.RTMPose: padding 1.25, the largest bins over 2, scaled from the input to the crop."""
    bins = RNG.integers(40, 470, (106, 2))
    outputs = [(f"simcc_{axis}", np.eye(512)[bins[None, :, k]]) for k, axis in enumerate("xy")]
    blob = (square(photo(), 1.25 * SIDE, 256) - MEAN) / STD
    return blob, outputs, bins / 2 / 256 * 1.25 * SIDE + CENTER - 1.25 * SIDE / 2


def hrnet():
    """MMPose's heat maps: the largest value, moved by a quarter to its larger neighbour, times four."""
    places = RNG.integers(5, 58, (98, 2))
    maps = np.zeros((1, 98, 64, 64))
    for i, (x, y) in enumerate(places):
        maps[0, i, y, x], maps[0, i, y, x + 1], maps[0, i, y - 1, x] = 1, 0.5, 0.5
    blob = (square(photo(), 1.25 * SIDE, 256) - MEAN) / STD
    expected = (places + (0.25, -0.25)) * 4 / 256 * 1.25 * SIDE + CENTER - 1.25 * SIDE / 2
    return blob, [("heatmaps", maps)], expected


def pipnet():
    """PIPNet without the votes of neighbours: (cell of the largest score + offset in it) over the cells."""
    cells, within = RNG.integers(1, 7, (98, 2)), RNG.uniform(0, 1, (98, 2))
    score, x, y = np.zeros((1, 98, 8, 8)), RNG.normal(size=(1, 98, 8, 8)), RNG.normal(size=(1, 98, 8, 8))
    for i, (column, row) in enumerate(cells):
        score[0, i, row, column] = 1
        x[0, i, row, column], y[0, i, row, column] = within[i]
    votes = np.zeros((1, 980, 8, 8))
    # the crop of the description is moved down by a tenth of the box
    expected = (cells + within) / 8 * 1.2 * SIDE + CENTER + (0, 0.1 * SIDE) - 0.6 * SIDE
    return None, [("cls", score), ("x", x), ("y", y), ("nb_x", votes), ("nb_y", votes)], expected


PUBLISHED = {
    "PFLD (98 points)": pfld,
    "insightface 2d106det": insightface,
    "RTMPose face (106 points)": rtmpose,
    "HRNet (heat maps)": hrnet,
    "PIPNet (98 points)": pipnet,
}


def save(path, size, outputs):
    """A network with these outputs, whatever it is shown."""
    helper = onnx.helper
    image = helper.make_tensor_value_info("input", onnx.TensorProto.FLOAT, [1, 3, size, size])
    nodes = [helper.make_node("ReduceMean", ["input"], ["mean"], keepdims=0)]
    nodes.append(helper.make_node("Mul", ["mean", "zero"], ["nothing"]))
    constants = [onnx.numpy_helper.from_array(np.array(0, np.float32), "zero")]
    shown = []
    for name, values in outputs:
        constants.append(onnx.numpy_helper.from_array(values.astype(np.float32), f"{name}_values"))
        nodes.append(helper.make_node("Add", ["nothing", f"{name}_values"], [name]))
        shown.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, values.shape))
    graph = helper.make_graph(nodes, "constant", [image], shown, constants)
    opset = [helper.make_opsetid("", 11)]
    path.write_bytes(helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString())


def test_all_documented_networks_are_tried():
    assert DESCRIPTIONS.keys() == PUBLISHED.keys()


@pytest.mark.parametrize("name", PUBLISHED)
def test_as_the_published_code_does(name, tmp_path, monkeypatch):
    blob, outputs, expected = PUBLISHED[name]()
    description = json.loads(DESCRIPTIONS[name])
    save(tmp_path / "n.onnx", description["size"][0], outputs)
    (tmp_path / "n.json").write_text(DESCRIPTIONS[name])
    predictor = NetworkLandmarks(tmp_path / "n.onnx")
    run, batches = predictor._run, []

    def watched(batch, *more):
        batches.append(batch)
        return run(batch, *more)

    monkeypatch.setattr(predictor, "_run", watched)
    np.testing.assert_allclose(predictor(photo(), BOX), expected, atol=0.01)
    if blob is not None:
        np.testing.assert_allclose(batches[0][0].transpose(1, 2, 0), blob, atol=0.02)
