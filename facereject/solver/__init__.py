"""Regularised risk minimisation with a certificate, and the linear objectives it minimises."""

from facereject.solver._run import NonFiniteRiskError, Progress, SubgradientError
from facereject.solver.bundle import METHODS, bundle_minimize, bundle_path
from facereject.solver.closed_form import ridge_path
from facereject.solver.cuts import Bundle
from facereject.solver.linear import LinearObjective
from facereject.solver.protocols import Objective, Preconditioned, Rounded
from facereject.solver.simplex_qp import solve_simplex_qp

__all__ = [
    "METHODS",
    "Bundle",
    "LinearObjective",
    "NonFiniteRiskError",
    "Objective",
    "Preconditioned",
    "Progress",
    "Rounded",
    "SubgradientError",
    "bundle_minimize",
    "bundle_path",
    "ridge_path",
    "solve_simplex_qp",
]
