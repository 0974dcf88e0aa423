"""Settings of the boosted scores in the published results: larger trees, from zero, outputs as columns."""

from typing import Any

AS_PUBLISHED: dict[str, Any] = {"learning_rate": 0.1, "max_leaves": 31, "l2": 5.0, "use_offset": False}
