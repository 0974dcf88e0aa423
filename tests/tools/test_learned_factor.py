"""What makes errors larger on some kinds of faces is learned, and shrunk."""

from __future__ import annotations

import numpy as np
import pytest

from tools.train.unlike import SHARE, OtherKind, learn


def kind(seed, blur):
    """Faces whose errors are larger by a fifth of a standard deviation of the first described column."""
    rng = np.random.default_rng(seed)
    described = rng.normal(size=(2000, 3)) + [blur, 0, 0]
    expected = rng.uniform(2, 8, 2000)
    losses = expected * (1 + 0.2 * described[:, 0]) * rng.uniform(0.9, 1.1, 2000)
    return OtherKind(described, expected, losses, expected)


def test_the_factor_of_a_kind_left_out_is_learned_from_the_others():
    unlike = learn([kind(seed, blur) for seed, blur in enumerate((0.5, 1.0, 3.0))])
    left = kind(9, 2.0)
    truth = left.losses.mean() / left.expected.mean()
    assert truth == pytest.approx(1.4, abs=0.02)
    assert unlike(left.described, left.expected) == pytest.approx(1 + SHARE * (truth - 1), abs=0.03)
