"""LightGBM, loaded when it is first needed: it takes longer to load than the rest of the scores."""

from __future__ import annotations

from typing import Any


class LightGBMNotAvailableError(ImportError):
    """LightGBM cannot be imported; the message says what to install."""


def import_lightgbm() -> Any:
    """The module, or a sentence about what is missing."""
    try:
        import lightgbm
    except ImportError:
        raise LightGBMNotAvailableError(
            "boosted scores need LightGBM, which is not installed: pip install lightgbm"
        ) from None
    except OSError as error:
        # the wheel is there, but the OpenMP runtime it links to is not
        raise LightGBMNotAvailableError(
            f"LightGBM is installed but cannot be loaded ({error}); "
            "it needs the OpenMP runtime: apt install libgomp1 (Debian, Ubuntu), brew install libomp (macOS)"
        ) from None
    return lightgbm
