"""The models of a server by name, and the rejector for the model and target that a client requests."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from facereject.faces import REGIONS, FaceRejector
from facereject.faces.models.calibration import Calibration, checked_target
from facereject.faces.models.card import error_unit, model_facts, target_words
from facereject.metrics import risk_coverage_curve
from facereject.serve.responses import unusable

#: what a client may ask for, at most one of them: the targets of `FaceRejector.with_target`, and
#: ``expected_error``, which accepts every face up to that expected error, in percent
TARGETS = ("expected_error", "max_error", "coverage", "cost", "threshold")

# points of the curve that are sent; a screen shows no more
_CURVE_POINTS = 120


class ModelRequest(NamedTuple):
    """The model and target that a client asks for; empty and None are the server's choice.

    ``region`` names the landmarks that matter, see `FaceRejector.for_region`; empty is the whole face.
    """

    model: str = ""
    kind: str = ""
    value: float | None = None
    region: str = ""

    @property
    def scale(self) -> tuple[str, str]:
        """Uncertainties can be compared under the same model and region."""
        return self.model, self.region

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> ModelRequest:
        """The request in a query or a JSON object; error 422 for what makes no sense."""
        model, region = values.get("model", ""), values.get("region", "")
        if not (isinstance(model, str) and isinstance(region, str)):
            raise unusable("model and region must be names")
        given = {kind: values[kind] for kind in TARGETS if values.get(kind) not in (None, "")}
        if len(given) > 1:
            raise unusable(f"give at most one of {', '.join(TARGETS)}; got {', '.join(given)}")
        for kind, value in given.items():
            try:
                number = math.nan if isinstance(value, bool) else float(value)
            except (TypeError, ValueError, OverflowError):
                number = math.nan
            if not math.isfinite(number):
                raise unusable(f"{kind} must be a number")
            return cls(model, kind, number, region)
        return cls(model, region=region)


class ModelRegistry:
    """Models by name, each loaded when it is first requested.

    Parameters
    ----------
    first : str
        Name of the default model.
    rejector : FaceRejector
        That model.
    others : mapping of str to callable
        Further names and how to load each. Other names are refused: none is ever taken for a file.
    notes : mapping of str to str
        What a model is for, and its licence, by name.
    """

    def __init__(
        self,
        first: str,
        rejector: FaceRejector,
        others: Mapping[str, Callable[[], FaceRejector]] | None = None,
        notes: Mapping[str, str] | None = None,
    ) -> None:
        self._first = first
        self._notes = dict(notes or {})
        self._load = {name: load for name, load in (others or {}).items() if name != first}
        self._loaded = {first: rejector}
        self._lock = threading.Lock()
        self._tuned = functools.lru_cache(maxsize=64)(self._tune)

    @property
    def names(self) -> list[str]:
        """The names, the default first."""
        return [self._first, *sorted(self._load)]

    def get(self, request: ModelRequest) -> FaceRejector:
        """The rejector for a request; error 422 if there is none."""
        return self._tuned(request._replace(model=request.model or self._first))

    def describe(self, request: ModelRequest) -> dict[str, Any]:
        """The model as plain JSON: what it is, its target, its risk-coverage curve."""
        rejector = self.get(request)
        calibration = rejector.calibration
        return {
            "name": request.model or self._first,
            "models": self.names,
            "notes": self._notes,
            # the target is shown as the client asked for it
            "facts": [list(fact) for fact in model_facts(rejector) if fact[0] not in ("target", "threshold")],
            "n_points": rejector.n_points,
            "regions": regions_of(rejector),
            "region_points": {name: list(REGIONS[name]) for name in regions_of(rejector)},
            "unit": error_unit(rejector),
            "target": describe_target(rejector, request),
            "expected_errors": [float(calibration.values[0]), float(calibration.values[-1])],
            "curve": curve_of(calibration),
        }

    def _tune(self, request: ModelRequest) -> FaceRejector:
        try:
            rejector = self._model(request.model)
            if request.region:
                rejector = rejector.for_region(request.region)
            if request.value is None:
                return rejector
            # the name of the API
            kind = {"expected_error": "max_expected_error"}.get(request.kind, request.kind)
            value = request.value
            checked_target(kind, value)
            return rejector.with_target(**{kind: value})
        except ValueError as error:
            raise unusable(str(error)) from None

    def _model(self, name: str) -> FaceRejector:
        if name in self._loaded:
            return self._loaded[name]
        if name not in self._load:
            raise unusable(f"model must be one of {', '.join(self.names)}")
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = self._load[name]()
            return self._loaded[name]


def regions_of(rejector: FaceRejector) -> list[str]:
    """The regions that clients may ask for, eyes and mouth first; none if the model tells none."""
    if rejector.calibration.regions is None:
        return []
    return ["eyes", "mouth", *(name for name in REGIONS if name not in ("eyes", "mouth"))]


def describe_target(rejector: FaceRejector, request: ModelRequest) -> dict[str, Any]:
    """The target as plain JSON: in words, its threshold, and what it gives on the calibration faces."""
    selector = rejector.selector
    threshold = float(selector.threshold_)
    asked = request.kind == "expected_error" and request.value is not None
    accepts_none = selector.coverage_ == 0
    expected = rejector.calibration.values[-1]
    if math.isfinite(threshold):
        expected = rejector.calibration.expected_error(threshold)
    return {
        "kind": request.kind or rejector.target.kind,
        "value": rejector.target.value if request.value is None else request.value,
        "words": f"expected error at most {request.value:.3g} %" if asked else target_words(rejector.target),
        "threshold": threshold if math.isfinite(threshold) else None,
        "accepts_all": math.isinf(threshold),
        "expected_error": request.value if asked else float(expected),
        "coverage": float(selector.coverage_),
        "error": None
        if accepts_none or not math.isfinite(selector.selective_risk_)
        else float(selector.selective_risk_),
    }


def curve_of(calibration: Calibration) -> list[dict[str, float]]:
    """Coverage, mean error of what is accepted, and the expected error at the threshold, by coverage."""
    curve = risk_coverage_curve(calibration.losses, calibration.uncertainty)
    n = len(curve.coverage)
    chosen = np.unique(np.linspace(0, n - 1, min(_CURVE_POINTS, n)).round().astype(int))
    expected = calibration.expected_error(curve.threshold[chosen])
    points = zip(curve.coverage[chosen], curve.risk[chosen], expected, strict=True)
    return [{"coverage": float(c), "error": float(r), "expected_error": float(e)} for c, r, e in points]
