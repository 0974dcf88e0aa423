"""Landmark networks in ONNX files: small real ones, built here, that find coloured dots."""

from __future__ import annotations

import hashlib
import json
import pickle

import numpy as np
import pytest

from facereject.faces import Box, LandmarkModelError
from facereject.faces.face import Detection
from facereject.faces.landmarks import LANDMARKS, make_landmarks
from facereject.faces.landmarks.base import place_landmarks, predict_landmarks
from facereject.faces.landmarks.network import NetworkLandmarks
from facereject.faces.landmarks.python_class import PythonLandmarks

onnx = pytest.importorskip("onnx")
helper, numpy_helper = onnx.helper, onnx.numpy_helper

SIZE = 64
BOX = Box(95, 60, 110, 90)
POINTS = np.array([[121.3, 82.6], [170.2, 88.4], [148.75, 127.15]])


def dots(points=POINTS, size=(300, 220)):
    """A black image with a red, a green and a blue Gaussian dot."""
    y, x = np.mgrid[: size[1], : size[0]]
    each = [np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * 5.0**2)) for a, b in points]
    return np.round(255 * np.stack(each, axis=2)).astype(np.uint8)


def constant(name, values):
    return numpy_helper.from_array(np.asarray(values, dtype=np.float32), name)


def network(kind, low=0.0, high=1.0):
    """Nodes, constants and outputs of a network that finds the dots."""
    image = helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, [1, 3, SIZE, SIZE])
    if kind == "heatmaps":
        # a blur, and maps of a quarter of the size whose pixels are every fourth of the input
        row = np.exp(-((np.arange(9) - 4) ** 2) / 8)
        weights = np.zeros((3, 1, 9, 9))
        weights[:, 0] = np.outer(row, row) / row.sum() ** 2
        node = helper.make_node(
            "Conv", ["image", "w"], ["out"], group=3, pads=[4] * 4, strides=[4, 4], kernel_shape=[9, 9]
        )
        return image, [node], [constant("w", weights)], [("out", [1, 3, SIZE // 4, SIZE // 4])]
    rows = helper.make_node("ReduceSum", ["image"], ["bins_x"], axes=[2], keepdims=0)
    columns = helper.make_node("ReduceSum", ["image"], ["bins_y"], axes=[3], keepdims=0)
    if kind == "simcc":
        return image, [rows, columns], [], [("bins_x", [1, 3, SIZE]), ("bins_y", [1, 3, SIZE])]
    # centre of mass, in a range
    step = low + (high - low) * np.arange(SIZE)[:, None] / SIZE
    nodes = [rows, columns, helper.make_node("ReduceSum", ["bins_x"], ["total"], axes=[2], keepdims=1)]
    for axis in "xy":
        nodes.append(helper.make_node("MatMul", [f"bins_{axis}", "step"], [f"sum_{axis}"]))
        nodes.append(helper.make_node("Add", ["total", "tiny"], [f"all_{axis}"]))
        nodes.append(helper.make_node("Div", [f"sum_{axis}", f"all_{axis}"], [axis]))
    nodes.append(helper.make_node("Concat", ["x", "y"], ["out"], axis=2))
    return image, nodes, [constant("step", step), constant("tiny", [1e-6])], [("out", [1, 3, 2])]


def save(path, kind="coordinates", description=None, **options):
    image, nodes, constants, outputs = network(kind, **options)
    shown = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in outputs]
    graph = helper.make_graph(nodes, "dots", [image], shown, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    told = {"points": 3, "size": [SIZE, SIZE], "crop_scale": 1.2, "kind": kind, **(description or {})}
    path.with_suffix(".json").write_text(json.dumps(told))
    return path


@pytest.fixture(params=["onnxruntime", "opencv"])
def backend(request):
    if request.param == "onnxruntime":
        pytest.importorskip("onnxruntime")
    return request.param


CASES = {
    "coordinates": ("coordinates", {}, {}),
    "coordinates from -1 to 1": ("coordinates", {"range": [-1, 1]}, {"low": -1.0, "high": 1.0}),
    "coordinates in pixels": ("coordinates", {"range": [0, SIZE]}, {"high": float(SIZE)}),
    "heat maps, peak": ("heatmaps", {"decoding": "gauss"}, {}),
    "heat maps, mean": ("heatmaps", {"decoding": "mean"}, {}),
    "SimCC, peak": ("simcc", {"decoding": "gauss", "outputs": ["bins_x", "bins_y"]}, {}),
    "SimCC, mean": ("simcc", {"decoding": "mean"}, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_placement_to_a_tenth_of_a_pixel(case, backend, tmp_path):
    kind, description, options = CASES[case]
    predictor = NetworkLandmarks(save(tmp_path / "n.onnx", kind, description, **options), backend=backend)
    np.testing.assert_allclose(predictor(dots(), BOX), POINTS, atol=0.1)
    # a smaller face elsewhere
    small = POINTS / 2 + (20, 30)
    np.testing.assert_allclose(predictor(dots(small), Box(65, 60, 60, 55)), small, atol=0.1)


def test_the_largest_bin_alone_is_coarse(tmp_path):
    exact = NetworkLandmarks(save(tmp_path / "n.onnx", "simcc", {"decoding": "argmax"}))
    step = 1.2 * 110 / SIZE
    assert np.abs(exact(dots(), BOX) - POINTS).max() < 0.55 * step
    quarter = NetworkLandmarks(save(tmp_path / "n.onnx", "simcc", {"decoding": "quarter"}))
    assert np.abs(quarter(dots(), BOX) - POINTS).max() < 0.55 * step


def test_color_mean_scale_and_layout(tmp_path):
    swapped = NetworkLandmarks(save(tmp_path / "n.onnx", description={"color": "bgr"}))
    np.testing.assert_allclose(swapped(dots(), BOX), POINTS[::-1], atol=0.1)
    # the centre of mass does not change with the scale, but with the mean
    scaled = NetworkLandmarks(save(tmp_path / "n.onnx", description={"scale": [0.1, 2, 3], "mean": 0}))
    np.testing.assert_allclose(scaled(dots(), BOX), POINTS, atol=0.1)
    shifted = NetworkLandmarks(save(tmp_path / "n.onnx", description={"mean": -50}))
    assert np.abs(shifted(dots(), BOX) - POINTS).max() > 5


def test_five_points_of_the_detector(tmp_path):
    # a face lying on its side: the template turns it upright
    template = [[20, 24], [44, 24], [32, 36], [22, 46], [42, 46]]
    predictor = NetworkLandmarks(save(tmp_path / "n.onnx", description={"template": template}))
    five = [(100 - 2 * (y - 32), 100 + 2 * (x - 32)) for x, y in template]
    points = np.array([[80.0, 90], [110.0, 120], [95.0, 105]])
    found = Detection(Box(60, 60, 80, 80), 1.0, tuple(five))
    np.testing.assert_allclose(place_landmarks(predictor, dots(points), found, 3, 8.0), points, atol=0.1)


def test_mapping_to_68(tmp_path):
    order = [i % 3 for i in range(68)]
    predictor = NetworkLandmarks(save(tmp_path / "n.onnx", description={"map_to_68": order}))
    assert predictor.n_points == 68
    np.testing.assert_allclose(predictor(dots(), BOX), POINTS[order], atol=0.1)


def test_description_in_the_file_itself(tmp_path):
    path = save(tmp_path / "n.onnx")
    told = path.with_suffix(".json").read_text()
    path.with_suffix(".json").unlink()
    with pytest.raises(LandmarkModelError, match=r"needs a description, n\.json beside it"):
        NetworkLandmarks(path)
    model = onnx.load(path)
    entry = model.metadata_props.add()
    entry.key, entry.value = "facereject", told
    path.write_bytes(model.SerializeToString())
    np.testing.assert_allclose(NetworkLandmarks(path)(dots(), BOX), POINTS, atol=0.1)


def test_stored_by_the_digest_of_both_files(tmp_path):
    path = save(tmp_path / "n.onnx")
    predictor = NetworkLandmarks(path)
    told = path.with_suffix(".json").read_bytes()
    assert predictor.fingerprint == hashlib.sha256(path.read_bytes() + b"\0" + told).hexdigest()
    again = LANDMARKS.restore(LANDMARKS.checked_definition(predictor))
    np.testing.assert_array_equal(again(dots(), BOX), predictor(dots(), BOX))
    copied = pickle.loads(pickle.dumps(predictor))  # noqa: S301
    np.testing.assert_array_equal(copied(dots(), BOX), predictor(dots(), BOX))
    path.with_suffix(".json").write_bytes(told.replace(b"1.2", b"1.3"))
    with pytest.raises(LandmarkModelError, match="not what the model was trained for"):
        LANDMARKS.restore(predictor.definition)


WRONG = {
    "size": ({"size": [32, 32]}, "cannot be run|coordinates come out"),
    "points": ({"points": 5}, "5 points are described, 6 coordinates come out"),
    "output": ({"outputs": ["none"]}, "no output 'none'; there are out"),
    "kind": ({"kind": "heatmaps"}, "3 maps are described"),
    "simcc": ({"kind": "simcc"}, "1 of 2 outputs"),
    "decoding": ({"decoding": "best"}, "'decoding': must be one of argmax"),
    "unknown": ({"sise": 3}, "unknown entry 'sise'"),
    "mean": ({"mean": [1, 2]}, "'mean': one value or 3"),
    "map": ({"map_to_68": [1, 2]}, "'map_to_68'"),
    "template": ({"template": [[1, 2]]}, "'template': five points"),
    "huge": ({"size": [10**9, 3]}, "'size'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_one_sentence(case, backend, tmp_path):
    description, words = WRONG[case]
    with pytest.raises(LandmarkModelError, match=words):
        NetworkLandmarks(save(tmp_path / "n.onnx", description=description), backend=backend)


def test_damaged_files(backend, tmp_path):
    path = save(tmp_path / "n.onnx")
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    for changed in [b"", b"not a network", data[:100], data[: len(data) // 2], rng.bytes(500)]:
        path.write_bytes(changed)
        with pytest.raises(LandmarkModelError, match=r"n\.onnx"):
            NetworkLandmarks(path, backend=backend)
    path.write_bytes(data)
    for changed in ("", "[]", "{", '{"points": 3}', '{"points": 1e999, "size": 64}'):
        path.with_suffix(".json").write_text(changed)
        with pytest.raises(LandmarkModelError, match=r"n\.json"):
            NetworkLandmarks(path, backend=backend)
    with pytest.raises(LandmarkModelError, match="no such file"):
        NetworkLandmarks(tmp_path / "none.onnx")


@pytest.mark.parametrize("where", ["initializer", "constant", "branch"])
def test_weights_in_other_files_are_refused(where, tmp_path):
    secret = tmp_path / "secret.bin"
    secret.write_bytes(bytes(4 * SIZE))
    path = save(tmp_path / "n.onnx")
    model = onnx.load(path)
    tensor = onnx.TensorProto(name="step", data_type=onnx.TensorProto.FLOAT, dims=[SIZE, 1])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "secret.bin"
    if where == "initializer":
        model.graph.initializer[0].CopyFrom(tensor)
    else:
        node = helper.make_node("Constant", [], ["step"], value=tensor)
        if where == "branch":
            inner = helper.make_graph([node], "inner", [], [helper.make_tensor_value_info("step", 1, None)])
            node = helper.make_node("If", ["image"], ["step"], then_branch=inner, else_branch=inner)
        model.graph.node.insert(0, node)
        del model.graph.initializer[0]
    path.write_bytes(model.SerializeToString())
    with pytest.raises(LandmarkModelError, match="keeps its weights in other files"):
        NetworkLandmarks(path)


class Middle:
    """A predictor of a user."""

    n_points, color = 2, "gray"

    def __call__(self, image, box):
        return np.array([[box.x, box.y], [box.x + box.width, box.y]])


def test_a_class_by_its_name_is_never_run_by_a_model_file():
    named = PythonLandmarks.imported(f"{__name__}:Middle")
    np.testing.assert_array_equal(predict_landmarks(named, dots(), BOX, 2), [[95, 60], [205, 60]])
    stub = make_landmarks(**LANDMARKS.checked_definition(named))
    assert stub.n_points == 2
    with pytest.raises(LandmarkModelError, match=f"--landmarks {__name__}:Middle"):
        stub(dots(), BOX)
    with pytest.raises(LandmarkModelError, match="cannot be made"):
        PythonLandmarks.imported("no_such_module:Thing")
