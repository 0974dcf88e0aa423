"""Small problems for the tests of the solver, and the exact minimum of those with hinges."""

from __future__ import annotations

import clarabel
import numpy as np
import scipy.sparse as sp

from facereject.risks import SELE, BinaryHinge, CrossEntropy, MulticlassHinge, OrdinalHinge, SquaredError
from facereject.solver import LinearObjective

N, D, K = 60, 4, 3
_rng = np.random.default_rng(0)
X = _rng.normal(size=(N, D)) @ _rng.normal(size=(D, D))
LABELS = np.argmax(X[:, :K] + _rng.normal(size=(N, K)), axis=1)
BINARY = (X[:, 0] + _rng.normal(size=N) > 0).astype(int)
LOSSES = np.abs(X[:, 0] + _rng.normal(size=N))

SMOOTH = {
    "sele": LinearObjective(X, SELE(LOSSES)),
    "sele in blocks": LinearObjective(X, SELE(LOSSES), blocks=LABELS),
    "cross-entropy": LinearObjective(X, CrossEntropy(LABELS, K)),
    "squared error": LinearObjective(X, SquaredError(LOSSES)),
    "sparse": LinearObjective(sp.csr_array(X), SELE(LOSSES)),
}
HINGES = {
    "binary hinge": LinearObjective(X, BinaryHinge(BINARY)),
    "multi-class hinge": LinearObjective(X, MulticlassHinge(LABELS, K)),
    "ordinal hinge": LinearObjective(X, OrdinalHinge(LABELS, K), shared_weights=True),
}
EVERY = SMOOTH | HINGES


def hinge_optimum(name, alpha):
    """The same problem as an explicit QP with one slack per term of the risk, solved by an interior point."""
    objective = HINGES[name]
    n_weights = objective.n_weights
    rows, margins, slack_of_row, weight_of_slack = [], [], [], []

    def score_row(i, k):
        """Score k of example i as a linear function of the weights."""
        gradient = np.zeros(objective.risk.score_shape)
        gradient[(i, k) if gradient.ndim == 2 else i] = 1.0
        return objective.pull_back(gradient)

    for i in range(N):
        if name == "multi-class hinge":
            weight_of_slack.append(1 / N)
            for k in range(K):
                if k != LABELS[i]:
                    rows.append(score_row(i, k) - score_row(i, LABELS[i]))
                    margins.append(1.0)
                    slack_of_row.append(len(weight_of_slack) - 1)
            continue
        for k in range(K - 1 if name == "ordinal hinge" else 1):
            positive = k < LABELS[i] if name == "ordinal hinge" else BINARY[i] == 1
            rows.append(score_row(i, k) * (-1 if positive else 1))
            margins.append(1.0)
            weight_of_slack.append(1 / N)
            slack_of_row.append(len(weight_of_slack) - 1)
    n_slacks = len(weight_of_slack)
    # minimise alpha/2 ‖w‖² + Σ weight ξ  subject to  row·w + margin ≤ ξ,  ξ ≥ 0
    quadratic = sp.diags(np.r_[np.full(n_weights, alpha), np.zeros(n_slacks)]).tocsc()
    linear = np.r_[np.zeros(n_weights), weight_of_slack]
    picks = sp.csc_matrix(
        (-np.ones(len(rows)), (range(len(rows)), slack_of_row)), shape=(len(rows), n_slacks)
    )
    A = sp.vstack(
        [
            sp.hstack([sp.csc_matrix(np.array(rows)), picks]),
            sp.hstack([sp.csc_matrix((n_slacks, n_weights)), -sp.eye(n_slacks)]),
        ]
    ).tocsc()
    b = np.r_[-np.array(margins), np.zeros(n_slacks)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(quadratic, linear, A, b, [clarabel.NonnegativeConeT(b.size)], settings)
    return solver.solve().obj_val
