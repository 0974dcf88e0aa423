"""Bundle method with a certificate, and the linear objectives it minimises."""

from facereject.solver._descent import NonFiniteRiskError, Progress, SubgradientError
from facereject.solver.bundle import bundle_minimize, bundle_path
from facereject.solver.cuts import Bundle
from facereject.solver.linear import LinearObjective
from facereject.solver.simplex_qp import solve_simplex_qp

__all__ = [
    "Bundle",
    "LinearObjective",
    "NonFiniteRiskError",
    "Progress",
    "SubgradientError",
    "bundle_minimize",
    "bundle_path",
    "solve_simplex_qp",
]
