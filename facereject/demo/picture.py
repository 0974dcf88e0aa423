"""The demonstration as one picture, for places that show no pages."""

from __future__ import annotations

import io
from collections.abc import Sequence

import matplotlib.figure
import numpy as np

from facereject.demo.page import ScoredImage


def draw_picture(scored: Sequence[ScoredImage]) -> bytes:
    """All versions in two rows, as PNG: points and frame green where accepted, red where rejected."""
    reach = 75
    columns = (len(scored) + 1) // 2
    figure = matplotlib.figure.Figure(figsize=(2.1 * columns, 5.2), layout="constrained")
    for axes, version in zip(figure.subplots(2, columns).flat, scored, strict=False):
        face, (x, y) = version.face, version.picture.landmarks.mean(axis=0)
        color = "#1a9850" if version.accepted else "#d73027"
        axes.imshow(version.picture.image)
        axes.set(xlim=(x - reach, x + reach), ylim=(y + reach, y - reach), xticks=[], yticks=[])
        verdict = "no face found"
        if face is not None and np.isfinite(face.landmarks).all():
            axes.scatter(*face.landmarks.T, s=4, color=color)
            verdict = f"expected error {face.expected_error:.1f} %"
        decision = "accepted" if version.accepted else "rejected"
        axes.set_title(f"{version.picture.name}\n{decision}: {verdict}", fontsize=8, color=color)
        for spine in axes.spines.values():
            spine.set(color=color, linewidth=3)
    stream = io.BytesIO()
    figure.savefig(stream, dpi=110)
    return stream.getvalue()
