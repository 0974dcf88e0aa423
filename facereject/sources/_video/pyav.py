"""PyAV, imported when a video is first opened: scoring photos need not wait for it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import av as av
else:

    class _Late:
        def __getattr__(self, name: str) -> Any:
            # import all names at once: a video closed during interpreter shutdown cannot import
            vars(self).update(vars(importlib.import_module("av")))
            return vars(self)[name] if name in vars(self) else object.__getattribute__(self, name)

    av = _Late()
