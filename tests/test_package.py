"""The package as a whole: public names, light import, layers, and no code that loads code."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import facereject

PACKAGE = Path(facereject.__file__).parent
THEORY = [
    "losses.py",
    "metrics.py",
    "risks",
    "solver",
    "predictors",
    "scores",
    "selection",
    "selective.py",
    "comparison.py",
]


@pytest.mark.parametrize("name", facereject.__all__)
def test_public_names_exist(name):
    assert getattr(facereject, name) is not None
    assert name in dir(facereject)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        facereject.nothing  # noqa: B018


def test_import_is_light():
    heavy = ("dlib", "sklearn", "cv2", "matplotlib")
    code = f"import sys, facereject; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def imported_modules(path: Path) -> set[str]:
    """Absolute names of the modules a file imports."""
    package = ["facereject", *path.relative_to(PACKAGE).parent.parts]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            found.add(".".join([*base, *([node.module] if node.module else [])]))
    return found


def files_of(*names: str) -> list[Path]:
    paths = [PACKAGE / name for name in names]
    return [file for path in paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]


def test_imports_point_one_way():
    for file in files_of(*THEORY):
        assert not any(re.match(r"facereject\.(faces|media|_cli)", m) for m in imported_modules(file)), (
            file.name
        )
    for file in files_of("faces/training", "faces/models", "faces/rejector.py"):
        assert not any(m.startswith("facereject.faces.evaluation") for m in imported_modules(file)), file.name
    for file in files_of("faces/detectors", "faces/landmarks", "faces/features"):
        above = r"facereject\.faces\.(models|training|evaluation|rejector)"
        assert not any(re.match(above, m) for m in imported_modules(file)), file.name
    for file in files_of("faces"):
        assert not any(re.match(r"facereject\.(media|_cli)", m) for m in imported_modules(file)), file.name


def test_loading_never_runs_code():
    for file in files_of("."):
        names = {
            node.id
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.Name)
        }
        assert not names & {"eval", "exec"}, file.name
        assert not imported_modules(file) & {"pickle", "dill", "cloudpickle", "joblib.numpy_pickle"}, (
            file.name
        )
        assert "allow_pickle=True" not in file.read_text(encoding="utf-8"), file.name


def test_version_is_in_the_changelog():
    changelog = PACKAGE.parent / "CHANGELOG.md"
    assert f"## {facereject.__version__}" in changelog.read_text(encoding="utf-8")
