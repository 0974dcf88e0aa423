"""Scripts that no other test runs: what they import from the repository exists."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "tools").rglob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_imported_names_exist(script):
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        module = node.module if isinstance(node, ast.ImportFrom) else None
        # scripts of tools/bench import each other by their bare names
        if module is None or module.split(".")[0] not in ("data_scripts", "facereject"):
            continue
        for alias in node.names:
            if not hasattr(importlib.import_module(module), alias.name):
                importlib.import_module(f"{module}.{alias.name}")
