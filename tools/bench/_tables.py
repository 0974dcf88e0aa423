"""The registry of the paper's tables, for the scripts beside this file, which run without being installed."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from data_scripts.registry import DATASETS, cut, find_folder, load, split

__all__ = ["DATASETS", "cut", "find_folder", "load", "split"]
