"""Regularised risk minimisation with a certificate of optimality, and the linear objectives it minimises.

`bundle_minimize` also takes objectives of your own: anything with ``n_weights``, ``risk``, ``scores(w)`` and
``pull_back(gradient)``, as `LinearObjective` has them.
"""

from facereject.solver._bundle import bundle_minimize, bundle_path
from facereject.solver._linear import LinearObjective
from facereject.solver._run import NonFiniteRiskError as NonFiniteRiskError
from facereject.solver._run import SubgradientError as SubgradientError

__all__ = [
    "LinearObjective",
    "bundle_minimize",
    "bundle_path",
]
