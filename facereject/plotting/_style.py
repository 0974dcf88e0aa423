"""Style shared by all displays: colours, markers, bare axes; and checks of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from facereject._validation import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, which colour-blind readers can tell apart, without its yellow, too pale for a line.
# Beyond six methods the colours repeat with another line style; markers differ throughout.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_LINE_STYLES = ("-", "--", ":", "-.")
_MARKERS = "osD^vP*X"

# References and annotations are paler than the methods.
INK = "#222222"
GREY = "#6E6E6E"
GRID = "#E3E3E3"

# Group ids tell the lines of methods and references apart when a second display draws on the same axes.
_METHOD = "facereject-method"
_REFERENCE = "facereject-reference"


def method_style(index: int) -> dict[str, Any]:
    """Colour, line style and marker of the index-th method, as keyword arguments of ``Axes.plot``."""
    return {
        "color": PALETTE[index % len(PALETTE)],
        "linestyle": _LINE_STYLES[index // len(PALETTE) % len(_LINE_STYLES)],
        "marker": _MARKERS[index % len(_MARKERS)],
    }


def mark_method(artist: Any) -> None:
    """Remember that `artist` shows a method, for `n_methods_drawn`."""
    artist.set_gid(_METHOD)


def mark_reference(artist: Any) -> None:
    """Remember that `artist` shows a reference, for `place_legend`."""
    artist.set_gid(_REFERENCE)


def n_methods_drawn(ax: Axes) -> int:
    """How many methods earlier displays drew on `ax`; a further one must not repeat their colours."""
    return sum(line.get_gid() == _METHOD for line in ax.lines)


def axes_or_new(ax: Axes | None, figsize: tuple[float, float]) -> Axes:
    """The axes given, or those of a new figure (inches)."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=figsize, layout="constrained")[1]


def one_above_the_other(ax: Any, figsize: tuple[float, float], heights: tuple[int, int]) -> tuple[Axes, Axes]:
    """The two axes given, or those of a new figure (inches) with a common x-axis."""
    if ax is not None:
        top, bottom = ax
        return top, bottom
    import matplotlib.pyplot as plt

    _, (top, bottom) = plt.subplots(
        2, 1, sharex=True, figsize=figsize, layout="constrained", height_ratios=heights
    )
    return top, bottom


def tidy(ax: Axes, *, grid: Literal["x", "y", "both"]) -> None:
    """Remove the frame that carries no numbers; draw a light grid below the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, axis=grid, color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)


def place_legend(ax: Axes) -> None:
    """Legend beside the axes where a layout engine makes room for it, else inside on a white ground.

    Methods come first, then references.
    """
    handles, labels = ax.get_legend_handles_labels()
    # sorted is stable; containers of several artists, such as error bars, have no group id and are methods
    order = sorted(
        range(len(handles)), key=lambda k: getattr(handles[k], "get_gid", lambda: None)() == _REFERENCE
    )
    options: dict[str, Any] = {"loc": "best", "framealpha": 0.85, "edgecolor": "none", "fontsize": "small"}
    figure = ax.get_figure(root=True)
    if figure is not None and figure.get_layout_engine() is not None:
        options = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
    legend = ax.legend([handles[k] for k in order], [labels[k] for k in order], **options)
    for text in legend.get_texts():
        # a name with a dollar sign is no formula
        text.set_parse_math(False)


def legend_label(name: str) -> str:
    """The name of a method for a legend, which leaves out labels that start with an underscore."""
    return f" {name}" if name.startswith("_") else name


def draw_curves(
    ax: Axes,
    curves: Mapping[str, Any],
    labels: Mapping[str, str],
    bands: Mapping[str, Any] | None,
    is_steady: Callable[[FloatArray], Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Lines (x, y) of several methods and their bands (x, low, high), each in the colour of its line.

    x is a share from 0 to 1. The other axis starts at 0 and is fitted to the parts of the curves for which
    ``is_steady(x)`` holds. On axes that already show curves the colours continue.
    """
    first = n_methods_drawn(ax)
    top = ax.get_ylim()[1] if first else 0.0
    lines, drawn = {}, {}
    for index, (method, (x, y, *_)) in enumerate(curves.items(), start=first):
        style = method_style(index) | {"marker": ""}
        (line,) = ax.plot(x, y, label=labels[method], linewidth=1.8, zorder=3, **style)
        mark_method(line)
        lines[method] = line
        if bands and method in bands:
            drawn[method] = ax.fill_between(
                *bands[method], color=line.get_color(), alpha=0.15, linewidth=0, zorder=1
            )
        steady = np.asarray(y)[is_steady(np.asarray(x))]
        top = max(top, 1.08 * float(steady.max(initial=0.0)))
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(0.0, top or 1.0)
    ax.xaxis.set_major_formatter(percent_axis())
    return lines, drawn


def check_curves(curves: Mapping[str, Any], areas: Mapping[str, float] | None, name: str) -> None:
    """Raise a ValueError if there are no curves, or areas of other methods."""
    if not curves:
        raise ValueError("curves must hold at least one method")
    if areas is not None and set(areas) != set(curves):
        raise ValueError(f"methods differ: curves has {list(curves)}, {name} has {list(areas)}")


def percent_axis() -> Any:
    """Ticks of fractions in whole percent."""
    from matplotlib.ticker import PercentFormatter

    return PercentFormatter(xmax=1.0, decimals=0)


def check_series(series: Mapping[str, Any], name: str, length: int) -> dict[str, FloatArray]:
    """Copy of `series` as float arrays; a ValueError names an empty mapping or a series of another length."""
    if not series:
        raise ValueError(f"{name} must hold at least one method")
    arrays = {method: np.asarray(values, dtype=np.float64) for method, values in series.items()}
    for method, values in arrays.items():
        if values.shape != (length,):
            raise ValueError(f"{name}[{method!r}] must have shape ({length},), got {values.shape}")
    return arrays


def check_names(names: Sequence[str], argument: str, count: int) -> list[str]:
    """`names` as a list of `count` distinct strings; a ValueError names the argument otherwise."""
    if isinstance(names, str) or len(names) != count:
        raise ValueError(f"{argument} must hold {count} names, got {names!r}")
    if len(set(names)) != count:
        raise ValueError(f"{argument} must be distinct, got {list(names)}")
    return [str(name) for name in names]


def check_same_methods(**series: Mapping[str, Any]) -> None:
    """Raise a ValueError that names the arguments whose methods differ."""
    (first, methods), *others = ((name, list(values)) for name, values in series.items())
    for name, other in others:
        if set(other) != set(methods):
            raise ValueError(f"methods differ: {first} has {methods}, {name} has {other}")
