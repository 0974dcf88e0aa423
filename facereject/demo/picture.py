"""The demonstration as one picture, for places that show no pages."""

from __future__ import annotations

import io
from collections.abc import Sequence

import matplotlib.figure

from facereject.demo.page import Judged


def draw_picture(judged: Sequence[Judged]) -> bytes:
    """All versions in two rows, as PNG: points and frame green where accepted, red where rejected."""
    reach = 75
    columns = (len(judged) + 1) // 2
    figure = matplotlib.figure.Figure(figsize=(2.1 * columns, 5.2), layout="constrained")
    for axes, version in zip(figure.subplots(2, columns).flat, judged, strict=False):
        row, (x, y) = version.row, version.picture.landmarks.mean(axis=0)
        color = "#1a9850" if version.accepted else "#d73027"
        axes.imshow(version.picture.image)
        axes.set(xlim=(x - reach, x + reach), ylim=(y + reach, y - reach), xticks=[], yticks=[])
        verdict = "no face found"
        if row is not None and row.landmarks is not None:
            axes.scatter(*row.landmarks.T, s=4, color=color)
            verdict = f"expected error {row.expected_error:.1f} %"
        decision = "accepted" if version.accepted else "rejected"
        axes.set_title(f"{version.picture.name}\n{decision}: {verdict}", fontsize=8, color=color)
        for spine in axes.spines.values():
            spine.set(color=color, linewidth=3)
    stream = io.BytesIO()
    figure.savefig(stream, dpi=110)
    return stream.getvalue()
