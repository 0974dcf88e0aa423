"""The models of a server by name, and the rejector for what a client asks for: a model and a target."""

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
from facereject.serve.refusals import unusable

#: what a client may ask for, at most one of them: the targets of `FaceRejector.with_target`, and
#: ``expected_error``, which accepts every face up to that expected error, in percent
TARGETS = ("expected_error", "max_error", "coverage", "cost", "threshold")

# points of the curve that are sent; a screen shows no more
_CURVE_POINTS = 120


class Wish(NamedTuple):
    """What a client asks for; empty and None are the choice of the server.

    ``region`` names the points that matter, see `FaceRejector.for_region`; empty is the whole face.
    """

    model: str = ""
    kind: str = ""
    value: float | None = None
    region: str = ""

    @property
    def scale(self) -> tuple[str, str]:
        """What uncertainties depend on: they can be compared under the same model and region."""
        return self.model, self.region


def wish_of(values: Mapping[str, Any]) -> Wish:
    """The wish in a query or a JSON object; a `Refusal` with 422 for what makes no sense."""
    model, region = values.get("model", ""), values.get("region", "")
    if not (isinstance(model, str) and isinstance(region, str)):
        raise unusable("model and region must be names")
    given = {kind: values[kind] for kind in TARGETS if values.get(kind) not in (None, "")}
    if len(given) > 1:
        raise unusable(f"give at most one of {', '.join(TARGETS)}; got {', '.join(given)}")
    for kind, value in given.items():
        try:
            if isinstance(value, bool):
                raise ValueError
            number = float(value)
            if not math.isfinite(number):
                raise ValueError
        except (TypeError, ValueError):
            raise unusable(f"{kind} must be a number") from None
        return Wish(model, kind, number, region)
    return Wish(model, region=region)


class ModelShelf:
    """Models by name, each loaded when it is first asked for.

    Parameters
    ----------
    first : str
        The name of the model that clients get who name none.
    rejector : FaceRejector
        That model.
    others : mapping of str to callable
        Further names and how to load each. No name leads to a file: others than these are refused.
    """

    def __init__(
        self,
        first: str,
        rejector: FaceRejector,
        others: Mapping[str, Callable[[], FaceRejector]] | None = None,
    ) -> None:
        self._first = first
        self._load = {name: load for name, load in (others or {}).items() if name != first}
        self._loaded = {first: rejector}
        self._lock = threading.Lock()
        self._tuned = functools.lru_cache(maxsize=64)(self._tune)

    @property
    def names(self) -> list[str]:
        """The names, the first choice first."""
        return [self._first, *sorted(self._load)]

    def get(self, wish: Wish) -> FaceRejector:
        """The rejector that does what is asked for; a `Refusal` with 422 if none can."""
        return self._tuned(wish._replace(model=wish.model or self._first))

    def describe(self, wish: Wish) -> dict[str, Any]:
        """The model as plain JSON: what it is, where the target stands, the whole risk-coverage curve."""
        rejector = self.get(wish)
        calibration = rejector.calibration
        return {
            "name": wish.model or self._first,
            "models": self.names,
            # the target is told apart, as the client asked for it
            "facts": [list(fact) for fact in model_facts(rejector) if fact[0] not in ("target", "threshold")],
            "n_points": rejector.n_points,
            "regions": regions_of(rejector),
            "unit": error_unit(rejector),
            "target": describe_target(rejector, wish),
            "expected_errors": [float(calibration.values[0]), float(calibration.values[-1])],
            "curve": curve_of(calibration),
        }

    def _tune(self, wish: Wish) -> FaceRejector:
        rejector = self._model(wish.model)
        try:
            if wish.region:
                rejector = rejector.for_region(wish.region)
            if wish.value is None:
                return rejector
            if wish.kind == "expected_error":
                kind, value = target_of_expected_error(rejector.calibration, wish.value)
            else:
                kind, value = wish.kind, wish.value
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
    """The regions that clients may ask for, the most usual ones first; none if the model knows none."""
    if rejector.calibration.regions is None:
        return []
    return ["eyes", "mouth", *(name for name in REGIONS if name not in ("eyes", "mouth"))]


def target_of_expected_error(calibration: Calibration, most: float) -> tuple[str, float]:
    """The target that accepts exactly the faces with an expected error of at most so many percent.

    The expected error never falls with the uncertainty, so these are the faces up to one uncertainty

        t = max { u : expected_error(u) <= most },

    linear between two knots. Beyond the last knot the expected error stays: then every face is accepted.
    """
    knots, values = calibration.knots, calibration.values
    if most >= values[-1]:
        return "coverage", 1.0
    if most < values[0]:
        # below every face that has been seen, but finite, as thresholds have to be
        return "threshold", float(np.finfo(np.float64).min)
    last = int(np.searchsorted(values, most, side="right")) - 1
    rise = (most - values[last]) / (values[last + 1] - values[last])
    threshold = float(knots[last] + rise * (knots[last + 1] - knots[last]))
    while threshold > knots[last] and calibration.expected_error(threshold) > most:
        # rounding must not accept what was excluded
        threshold = math.nextafter(threshold, -math.inf)
    return "threshold", threshold


def describe_target(rejector: FaceRejector, wish: Wish) -> dict[str, Any]:
    """The target as plain JSON: in words, its threshold, and what it gives on the calibration faces."""
    selector = rejector.selector
    threshold = float(selector.threshold_)
    asked = wish.kind == "expected_error" and wish.value is not None
    accepts_none = selector.coverage_ == 0
    expected = rejector.calibration.values[-1]
    if math.isfinite(threshold):
        expected = rejector.calibration.expected_error(threshold)
    return {
        "kind": wish.kind or rejector.target.kind,
        "value": rejector.target.value if wish.value is None else wish.value,
        "words": f"expected error at most {wish.value:.3g} %" if asked else target_words(rejector.target),
        "threshold": threshold if math.isfinite(threshold) else None,
        "accepts_all": math.isinf(threshold),
        "expected_error": wish.value if asked else float(expected),
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
    return [
        {
            "coverage": float(curve.coverage[k]),
            "error": float(curve.risk[k]),
            "expected_error": float(value),
        }
        for k, value in zip(chosen, expected, strict=True)
    ]
