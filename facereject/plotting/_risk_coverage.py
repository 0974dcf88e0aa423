"""Risk-coverage curves of several uncertainty scores, between the oracle's and that of random rejection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from facereject._validation import FloatArray
from facereject.metrics import aurc as area_under_curve
from facereject.metrics import risk_coverage_curve
from facereject.plotting._style import (
    GREY,
    INK,
    axes_or_new,
    check_curves,
    draw_curves,
    legend_label,
    mark_reference,
    place_legend,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Below this coverage or number of examples a curve is the mean of so few losses that one of them makes a
# spike.
_STEADY_COVERAGE = 0.02
_STEADY_EXAMPLES = 20


@dataclass(eq=False, repr=False)
class RiskCoverageDisplay:
    """Selective risk against coverage, one line per uncertainty score.

    Parameters
    ----------
    curves : mapping of str to curve
        Per method a result of :func:`facereject.metrics.risk_coverage_curve`, or any tuple that starts with
        coverage (fractions) and risk.
    aurc : mapping of str to float, optional
        AuRC per method, for the legend.
    bands : mapping of str to (coverage, low, high), optional
        Interval of the risk per method, drawn behind its line.
    oracle : curve, optional
        Curve of the best possible ranking.
    oracle_aurc : float, optional
        Its AuRC, for the legend.
    random_risk : float, optional
        Mean loss of all examples: the risk, at every coverage, of a score that knows nothing. It is also
        that score's AuRC.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict of str to Line2D
        One line per method; x is the coverage (fraction), y the selective risk.
    bands_ : dict of str to PolyCollection
        The bands that were drawn.
    oracle_line_, random_line_ : Line2D or None

    See Also
    --------
    ErrorDiscardDisplay : The same from the right: error against the share discarded.
    facereject.compare_scores : Curves with bands.

    Examples
    --------
    >>> from facereject.plotting import RiskCoverageDisplay
    >>> losses, uncertainty = [0, 0, 1, 0], [0.1, 0.2, 0.9, 0.4]
    >>> display = RiskCoverageDisplay.from_predictions(losses, uncertainty, name="mine")
    >>> display.lines_["mine"].get_label()
    'mine (AuRC 0.0625)'
    """

    curves: Mapping[str, Any]
    _: KW_ONLY
    aurc: Mapping[str, float] | None = None
    bands: Mapping[str, Any] | None = None
    oracle: Any = None
    oracle_aurc: float | None = None
    random_risk: float | None = None

    def __post_init__(self) -> None:
        check_curves(self.curves, self.aurc, "aurc")

    @classmethod
    def from_predictions(
        cls,
        losses: Any,
        uncertainty: Any,
        *,
        name: str = "score",
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> RiskCoverageDisplay:
        """Compute the curves and areas, and draw them.

        Parameters
        ----------
        losses : array-like of shape (n,)
            Loss of each example, at least 0.
        uncertainty : array-like of shape (n,), or mapping of str to array-like
            Uncertainty of each example, higher = less certain; a mapping draws several scores.
        name : str, default="score"
            Name of the score in the legend; a mapping brings its own names.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **plot_options
            Passed on to :meth:`plot`.

        Returns
        -------
        RiskCoverageDisplay
        """
        scores = dict(uncertainty) if isinstance(uncertainty, Mapping) else {name: uncertainty}
        curves = {method: risk_coverage_curve(losses, score) for method, score in scores.items()}
        # the loss itself is the uncertainty of a score that knows everything
        oracle = risk_coverage_curve(losses, losses)
        display = cls(
            curves,
            aurc={method: area_under_curve(losses, score) for method, score in scores.items()},
            oracle=oracle,
            oracle_aurc=area_under_curve(losses, losses),
            random_risk=float(oracle.risk[-1]),
        )
        return display.plot(ax, **plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        oracle: bool = True,
        random: bool = True,
        risk_label: str = "selective risk",
    ) -> RiskCoverageDisplay:
        """Draw the curves.

        The risk axis is fitted to the curves from 2 % coverage and 20 examples on (but at least to their
        right half); at lower coverage, where the mean is over a few examples, curves may leave the axes at
        the top.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default. On axes that already show curves the colours continue.
        oracle, random : bool, default=True
            Whether to draw these references, where the display has them.
        risk_label : str, default="selective risk"
            Label of the risk axis; the place to state the unit.

        Returns
        -------
        RiskCoverageDisplay
            Itself.
        """
        ax = axes_or_new(ax, (7.4, 4.2))
        labels = {method: _label(method, (self.aurc or {}).get(method)) for method in self.curves}
        self.lines_, self.bands_ = draw_curves(ax, self.curves, labels, self.bands, _is_steady)
        self.oracle_line_ = self.random_line_ = None
        if random and self.random_risk is not None:
            self.random_line_ = ax.axhline(
                self.random_risk, color=GREY, linestyle=":", linewidth=1.4, zorder=2
            )
            self.random_line_.set_label(_label("random", self.random_risk))
            mark_reference(self.random_line_)
            ax.set_ylim(0.0, max(ax.get_ylim()[1], 1.08 * self.random_risk))
        if oracle and self.oracle is not None:
            (self.oracle_line_,) = ax.plot(
                self.oracle[0], self.oracle[1], color=INK, linestyle="--", linewidth=1.2, zorder=2
            )
            self.oracle_line_.set_label(_label("oracle", self.oracle_aurc))
            mark_reference(self.oracle_line_)

        ax.set_xlabel("coverage")
        ax.set_ylabel(risk_label)
        tidy(ax, grid="both")
        place_legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _is_steady(coverage: FloatArray) -> Any:
    return coverage >= max(_STEADY_COVERAGE, min(_STEADY_EXAMPLES / len(coverage), 0.5))


def _label(method: str, area: float | None) -> str:
    if area is None:
        return legend_label(method)
    # "#" keeps trailing zeros, so that all areas show three digits, but also the bare point of "123."
    digits = f"{area:#.3g}".rstrip(".")
    return f"{legend_label(method)} (AuRC {digits})"
