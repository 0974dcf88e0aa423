"""Regularised risk minimisation with a certificate of optimality, and the linear objectives it minimises.

`bundle_minimize` also takes objectives of your own: anything with the members of `LinearObjective` that
``facereject.solver.protocols.Objective`` lists.
"""

from facereject.solver._run import NonFiniteRiskError, SubgradientError
from facereject.solver.bundle import METHODS, bundle_minimize, bundle_path
from facereject.solver.closed_form import ridge_path
from facereject.solver.linear import LinearObjective

__all__ = [
    "METHODS",
    "LinearObjective",
    "NonFiniteRiskError",
    "SubgradientError",
    "bundle_minimize",
    "bundle_path",
    "ridge_path",
]
