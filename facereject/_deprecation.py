"""The one way to rename something public: the old name works for two minor versions, and warns."""

from __future__ import annotations

import warnings


def warn_deprecated(name: str, *, replacement: str, removed_in: str, stacklevel: int = 2) -> None:
    """Warn that a name, argument or option is deprecated.

    Parameters
    ----------
    name : str
        The old name, as users write it.
    replacement : str
        What to use instead.
    removed_in : str
        The version that no longer has the old name. A test fails when that version is reached and the call is
        still there.
    stacklevel : int, default=2
        As in `warnings.warn`; 2 points at the caller of the function that calls this one.

    Warns
    -----
    FutureWarning
        As in scikit-learn: unlike a ``DeprecationWarning`` it is shown by default.
    """
    warnings.warn(
        f"{name} is deprecated and will be removed in facereject {removed_in}; use {replacement}",
        FutureWarning,
        stacklevel=stacklevel + 1,
    )
