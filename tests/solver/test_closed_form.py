"""The closed form of the squared risk: its optimality conditions, and the certified minimum."""

from __future__ import annotations

import numpy as np
import pytest
from linear_problems import LABELS, LOSSES, SMOOTH, N, X

from facereject.risks import SquaredError
from facereject.solver import LinearObjective, bundle_minimize
from facereject.solver._closed_form import ridge_path


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"blocks": LABELS}], ids=str)
def test_the_closed_form_is_the_minimiser_of_the_squared_risk(options, weighted):
    weights = np.random.default_rng(1).random(N) if weighted else None
    objective = LinearObjective(X, SquaredError(LOSSES, weights), **options)
    for alpha, w in zip([0.0, 1e-3, 1.0], ridge_path(objective, [0.0, 1e-3, 1.0]), strict=True):
        # zero gradient of a convex function: no other point is lower
        np.testing.assert_allclose(objective(w)[1] + alpha * w, 0.0, atol=1e-10)
        certified = bundle_minimize(objective, alpha, tol=1e-6)
        assert objective(w)[0] + 0.5 * alpha * w @ w == pytest.approx(certified.fun, rel=1.1e-6)


def test_the_closed_form_with_fewer_rows_than_columns_and_an_empty_block():
    rng = np.random.default_rng(2)
    wide, target = rng.normal(size=(6, 20)), rng.normal(size=6)
    objective = LinearObjective(wide, SquaredError(target), blocks=[0, 0, 0, 2, 2, 2])
    for alpha, w in zip([1e-6, 0.1], ridge_path(objective, [1e-6, 0.1]), strict=True):
        np.testing.assert_allclose(objective(w)[1] + alpha * w, 0.0, atol=1e-10)
        assert not objective.split(w)[0][1].any()


def test_the_closed_form_is_for_squared_error_only():
    with pytest.raises(TypeError, match="only SquaredError has a closed form, not SELE"):
        ridge_path(SMOOTH["sele"], [1.0])
