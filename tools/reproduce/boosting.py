"""Settings of the boosted scores in the published results: larger trees, from zero, outputs as columns."""

from typing import Any

AS_PUBLISHED: dict[str, Any] = {
    "learning_rate": 0.1,
    "max_leaf_nodes": 31,
    "l2_regularization": 5.0,
    "use_base_score": False,
}
