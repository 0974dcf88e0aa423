"""Displays: what is drawn equals what was computed, names are readable, nothing needs a screen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import same_color

from facereject.comparison import average_ranks, nemenyi, relative_improvement
from facereject.metrics import aurc, risk_coverage_curve
from facereject.plotting import (
    CriticalDifferenceDisplay,
    LearningCurveDisplay,
    RelativeImprovementDisplay,
    RiskCoverageDisplay,
)

PAPER = json.loads((Path(__file__).parent / "fixtures" / "paper_tables.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def scored(rng):
    """Losses of 500 examples and two uncertainty scores, the second noisier."""
    difficulty = rng.beta(1, 4, size=500)
    losses = (rng.random(500) < difficulty).astype(float)
    noise = rng.normal(size=500)
    return losses, {"SELE": difficulty, "REG": difficulty + 0.2 * noise}


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def assert_apart(texts, inside):
    """No two texts overlap and none leaves the box `inside` (pixels)."""
    boxes = [text.get_window_extent() for text in texts]
    for a, b in combinations(boxes, 2):
        assert not a.overlaps(b)
    for box in boxes:
        assert inside.x0 - 1 <= box.x0 < box.x1 <= inside.x1 + 1
        assert inside.y0 - 1 <= box.y0 < box.y1 <= inside.y1 + 1


# Risk-coverage curves


def test_risk_coverage_draws_the_curves(scored):
    losses, scores = scored
    display = RiskCoverageDisplay.from_predictions(losses, scores)
    for method, score in scores.items():
        curve = risk_coverage_curve(losses, score)
        np.testing.assert_array_equal(display.lines_[method].get_xdata(), curve.coverage)
        np.testing.assert_array_equal(display.lines_[method].get_ydata(), curve.risk)
    oracle = risk_coverage_curve(losses, losses)
    np.testing.assert_array_equal(display.oracle_line_.get_ydata(), oracle.risk)
    np.testing.assert_allclose(display.random_line_.get_ydata(), losses.mean())
    assert display.figure_ is display.ax_.figure


def test_risk_coverage_legend_states_each_aurc(scored):
    losses, scores = scored
    texts = legend_texts(RiskCoverageDisplay.from_predictions(losses, scores).ax_)
    areas = [
        aurc(losses, scores["SELE"]),
        aurc(losses, scores["REG"]),
        losses.mean(),
        aurc(losses, losses),
    ]
    for text, name, area in zip(texts, ["SELE", "REG", "random", "oracle"], areas, strict=True):
        assert text.startswith(f"{name} (AuRC ")
        assert float(text.removeprefix(f"{name} (AuRC ").removesuffix(")")) == pytest.approx(area, rel=5e-3)


@pytest.mark.parametrize(
    ("area", "shown"), [(2.9, "2.90"), (19.24, "19.2"), (123.4, "123"), (0.01978, "0.0198")]
)
def test_risk_coverage_legend_has_three_digits(area, shown):
    display = RiskCoverageDisplay({"a": ([0.5, 1.0], [0.1, 0.2])}, aurc={"a": area}).plot()
    assert legend_texts(display.ax_) == [f"a (AuRC {shown})"]


def test_risk_coverage_from_curves_without_references():
    display = RiskCoverageDisplay({"a": ([0.5, 1.0], [0.1, 0.2])}).plot()
    assert display.oracle_line_ is None
    assert display.random_line_ is None
    assert legend_texts(display.ax_) == ["a"]
    np.testing.assert_array_equal(display.lines_["a"].get_xydata(), [[0.5, 0.1], [1.0, 0.2]])


def test_risk_coverage_on_shared_axes_continues_colours(scored):
    losses, scores = scored
    first = RiskCoverageDisplay.from_predictions(losses, scores["SELE"], name="SELE")
    top = first.ax_.get_ylim()[1]
    second = RiskCoverageDisplay.from_predictions(
        losses, scores["REG"], name="REG", ax=first.ax_, oracle=False, random=False
    )
    assert second.ax_ is first.ax_
    assert second.oracle_line_ is None
    assert second.random_line_ is None
    assert not same_color(first.lines_["SELE"].get_color(), second.lines_["REG"].get_color())
    assert [text.split()[0] for text in legend_texts(first.ax_)] == ["SELE", "REG", "random", "oracle"]
    assert first.ax_.get_ylim()[1] >= top


def test_risk_axis_is_not_fitted_to_the_first_spike():
    risk = np.full(1000, 0.1)
    risk[:5] = 1.0
    display = RiskCoverageDisplay({"a": (np.arange(1, 1001) / 1000, risk)}).plot()
    assert 0.1 < display.ax_.get_ylim()[1] < 0.2


def test_nor_to_the_spike_of_a_small_sample():
    risk = np.full(100, 0.1)
    risk[:15] = 1.0
    display = RiskCoverageDisplay({"a": (np.arange(1, 101) / 100, risk)}).plot()
    assert 0.1 < display.ax_.get_ylim()[1] < 0.2
    few = RiskCoverageDisplay({"a": ([0.25, 0.5, 0.75, 1.0], [0.9, 0.3, 0.2, 0.1])}).plot()
    assert 0.3 < few.ax_.get_ylim()[1] < 0.9


def test_perfect_predictor_can_be_drawn():
    display = RiskCoverageDisplay.from_predictions(np.zeros(10), np.arange(10.0))
    low, high = display.ax_.get_ylim()
    assert low == 0.0 < high


# Critical difference diagram


@pytest.mark.parametrize("predictor", PAPER)
def test_critical_difference_of_the_paper(predictor):
    table = PAPER[predictor]
    values = np.array([row["aurc_mean"] for row in table["datasets"]])
    display = CriticalDifferenceDisplay.from_values(values, table["methods"], alpha=0.10)
    ranks = average_ranks(values)
    expected = nemenyi(ranks, len(values))
    np.testing.assert_allclose(display.cd_bar_.get_xdata(), [1.0, 1.0 + expected.critical_difference])
    for bar, group in zip(display.group_bars_, expected.groups, strict=True):
        np.testing.assert_allclose(bar.get_xdata(), [ranks[list(group)].min(), ranks[list(group)].max()])
    for name, rank in zip(table["methods"], ranks, strict=True):
        assert display.elbows_[name].get_xdata()[0] == pytest.approx(rank)
        assert display.labels_[name].get_text() == f"{name}  {rank:.2f}"
        # the elbow ends at the height of its label
        assert display.elbows_[name].get_ydata()[-1] == display.labels_[name].get_position()[1]
    assert any(f"CD = {expected.critical_difference:.3g}" in text.get_text() for text in display.ax_.texts)
    assert {text.get_text() for text in display.ax_.texts} >= {str(k + 1) for k in range(len(ranks))}


NAMES = ["a rather long method name", "SELE", "TCP", "another long method name", *"ABCDEFGHIJKLMNOP"]


@pytest.mark.parametrize("n_methods", [2, 3, 7, 12, 20])
@pytest.mark.parametrize("n_datasets", [2, 30])
def test_critical_difference_labels_never_overlap(rng, n_methods, n_datasets):
    values = rng.normal(size=(n_datasets, n_methods)) + np.linspace(0, 1, n_methods)
    display = CriticalDifferenceDisplay.from_values(values, NAMES[:n_methods])
    display.figure_.canvas.draw()
    assert_apart(display.ax_.texts, display.figure_.bbox)
    low, high = display.ax_.get_xlim()
    assert low < 1.0
    assert max(display.cd_bar_.get_xdata()) < high


@pytest.mark.parametrize("figsize", [(10, 2.5), (5, 1.5)])
def test_critical_difference_stays_inside_given_axes(rng, figsize):
    figure, axes = plt.subplots(1, 2, figsize=figsize)
    for ax, n_methods in zip(axes, [4, 9], strict=True):
        display = CriticalDifferenceDisplay.from_values(
            rng.normal(size=(9, n_methods)), ["maximum class probability", *"bcdefghi"][:n_methods], ax=ax
        )
        assert display.ax_ is ax
        figure.canvas.draw()
        assert_apart(display.ax_.texts, ax.bbox)


def test_group_bars_that_share_a_method_lie_in_different_lanes():
    display = CriticalDifferenceDisplay(
        [1.0, 2.0, 3.0, 4.0], list("wxyz"), critical_difference=1.5, groups=[(0, 1), (1, 2), (2, 3)]
    ).plot()
    heights = [bar.get_ydata()[0] for bar in display.group_bars_]
    assert heights[0] != heights[1] != heights[2]
    # the third bar begins well after the first ends, so both fit into the first lane
    assert heights[0] == heights[2]


def test_critical_difference_with_equal_ranks_and_no_group():
    display = CriticalDifferenceDisplay(
        [1.5, 1.5, 3.0], list("abc"), critical_difference=0.1, groups=[]
    ).plot()
    assert display.group_bars_ == []
    display.figure_.canvas.draw()
    assert_apart(display.labels_.values(), display.figure_.bbox)


# Relative improvement


def test_relative_improvement_draws_means_and_error_bars(rng):
    baseline = rng.uniform(1, 2, size=(4, 5))
    methods = {
        "SELE": baseline * 0.8 + 0.05 * rng.random((4, 5)),
        "REG": baseline * rng.uniform(0.9, 1.2, (4, 5)),
    }
    names = ["AVILA", "CODRNA", "COVTYPE", "IJCNN"]
    display = RelativeImprovementDisplay.from_values(baseline, methods, names, baseline_name="MCP")
    for method, values in methods.items():
        expected = relative_improvement(baseline, values)
        points, _, (bars,) = display.containers_[method].lines
        np.testing.assert_allclose(points.get_xdata(), expected.mean)
        # each point belongs to the row of its data set
        np.testing.assert_array_equal(np.rint(points.get_ydata()), np.arange(4))
        segments = np.array(bars.get_segments())
        np.testing.assert_allclose(segments[:, 0, 0], expected.mean - expected.std)
        np.testing.assert_allclose(segments[:, 1, 0], expected.mean + expected.std)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == names
    low, high = display.ax_.get_ylim()
    assert low > high  # the first data set is on top
    assert "MCP" in display.ax_.get_xlabel()
    assert legend_texts(display.ax_) == ["SELE", "REG"]
    np.testing.assert_array_equal(display.zero_line_.get_xdata(), [0, 0])


def test_relative_improvement_rows_do_not_overlap():
    table = PAPER["LR"]
    names = [row["name"] for row in table["datasets"]]
    mean = {method: np.arange(11.0) for method in table["methods"]}
    display = RelativeImprovementDisplay(mean, mean, names).plot()
    display.figure_.canvas.draw()
    assert_apart(display.ax_.get_yticklabels(), display.figure_.bbox)
    assert_apart([display.ax_.get_legend()], display.figure_.bbox)
    heights = np.concatenate([container.lines[0].get_ydata() for container in display.containers_.values()])
    assert np.diff(np.sort(heights)).min() > 0.1


def test_relative_improvement_of_one_split_has_no_error_bar():
    display = RelativeImprovementDisplay.from_values([[2.0]], {"m": [[1.0]]}, ["d"])
    points, _, (bars,) = display.containers_["m"].lines
    assert points.get_xdata() == pytest.approx([50.0])
    assert not any(np.isfinite(segment).any() for segment in bars.get_segments())
    display.figure_.canvas.draw()


# Learning curves


def test_learning_curve_draws_mean_and_band(rng):
    sizes = np.array([1000, 200, 500])  # in any order
    values = {"SELE": rng.random((3, 5)), "REG": rng.random((3, 5))}
    display = LearningCurveDisplay.from_values(sizes, values, ylabel="AuRC [%]")
    order = np.argsort(sizes)
    for method, repeated in values.items():
        mean, std = repeated.mean(axis=1)[order], repeated.std(axis=1, ddof=1)[order]
        line = display.lines_[method]
        np.testing.assert_array_equal(line.get_xdata(), sizes[order])
        np.testing.assert_allclose(line.get_ydata(), mean)
        vertices = display.bands_[method].get_paths()[0].vertices
        for size, low, high in zip(sizes[order], mean - std, mean + std, strict=True):
            heights = vertices[vertices[:, 0] == size, 1]
            np.testing.assert_allclose([heights.min(), heights.max()], [low, high])
    assert display.ax_.get_ylabel() == "AuRC [%]"
    assert legend_texts(display.ax_) == ["SELE", "REG"]


@pytest.mark.parametrize("largest", [2000, 100_000])
def test_learning_curve_ticks_do_not_overlap_on_a_log_axis(largest):
    sizes = np.geomspace(20, largest, 8)
    display = LearningCurveDisplay(sizes, {"a": 1 / sizes}).plot(log_x=True)
    display.figure_.canvas.draw()
    low, high = display.ax_.get_xlim()
    axis = display.ax_.xaxis
    shown = [
        label for label, x in zip(axis.get_ticklabels(), axis.get_ticklocs(), strict=True) if low <= x <= high
    ]
    assert len(shown) >= 3
    assert_apart(shown, display.figure_.bbox)
    assert display.bands_ == {}


# All displays


def test_eight_methods_are_told_apart(rng):
    display = LearningCurveDisplay([1, 2], {f"m{k}": rng.random(2) for k in range(8)}).plot()
    styles = {(line.get_color(), line.get_linestyle()) for line in display.lines_.values()}
    assert len(styles) == 8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RiskCoverageDisplay({}), "curves must hold at least one method"),
        (lambda: RiskCoverageDisplay({"a": ([1], [1])}, aurc={"b": 1.0}), "curves has .* aurc has"),
        (lambda: CriticalDifferenceDisplay.from_values([[1, 2], [1, 2]], ["a"]), "names must hold 2 names"),
        (
            lambda: CriticalDifferenceDisplay.from_values([[1, 2], [1, 2]], ["a", "a"]),
            "names must be distinct",
        ),
        (lambda: RelativeImprovementDisplay({"a": [1]}, {"b": [1]}, ["d"]), "mean has .* std has"),
        (lambda: RelativeImprovementDisplay({"a": [1]}, {"a": [1, 2]}, ["d"]), r"std\['a'\] must have shape"),
        (lambda: LearningCurveDisplay([1, 2], {"a": [1]}), r"mean\['a'\] must have shape \(2,\)"),
        (lambda: LearningCurveDisplay([1, 2], {}), "mean must hold at least one method"),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_import_is_light_and_no_screen_is_needed(tmp_path):
    script = (
        "import sys; import facereject.plotting as p; assert 'matplotlib' not in sys.modules\n"
        "d = p.RiskCoverageDisplay.from_predictions([0, 1, 0], [1, 3, 2]); d.figure_.savefig(sys.argv[1])"
    )
    environment = {
        k: v for k, v in os.environ.items() if k not in {"DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND"}
    }
    picture = tmp_path / "curve.png"
    subprocess.run([sys.executable, "-c", script, str(picture)], check=True, env=environment)
    assert picture.stat().st_size > 1000
