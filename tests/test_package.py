"""The package as a whole: public names, light import, layers, and no code that loads code."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from itertools import chain
from pathlib import Path

import PIL.Image
import pytest
import skimage.data

import facereject

PACKAGE = Path(facereject.__file__).parent


@pytest.mark.parametrize("name", facereject.__all__)
def test_public_names_exist(name):
    assert getattr(facereject, name) is not None
    assert name in dir(facereject)


@pytest.mark.parametrize("name", ["facereject", "facereject.faces", "facereject.selection"])
def test_lazy_packages_have_what_they_list(name):
    package = importlib.import_module(name)
    for public in {*package.__all__, *chain(*package._HOME.values())}:
        assert getattr(package, public) is not None
    assert dir(package) == sorted(package.__all__)
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nothing'"):
        package.nothing  # noqa: B018


def test_messages_are_logged_and_silent_by_default():
    code = "import logging; from facereject._log import logger; logger('facereject.part').error('unheard')"
    silent = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (silent.stdout, silent.stderr) == ("", "")
    code = f"import logging; logging.basicConfig(); {code}"
    heard = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert heard.stderr == "ERROR:facereject.part:unheard\n"
    # else what a module logs would be heard by default
    direct = [path for path in PACKAGE.rglob("*.py") if "logging.getLogger(__name__)" in path.read_text()]
    assert direct == []


def test_import_is_light():
    heavy = ("dlib", "sklearn", "cv2", "matplotlib")
    code = f"import sys, facereject; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_judging_a_face_loads_no_estimators():
    code = (
        "import sys, facereject, skimage.data; image = skimage.data.astronaut()\n"
        "before = set(sys.modules); faces = facereject.FaceRejector.pretrained()(image)\n"
        "added = set(sys.modules) - before\n"
        "heavy = ('sklearn', 'scipy.stats', 'scipy.optimize', 'pandas', 'lightgbm')\n"
        "print(len(faces), [m for m in heavy if m in added])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1 []"


def test_scoring_a_photograph_imports_only_what_it_needs(tmp_path):
    photo = tmp_path / ":fire:.jpg"
    PIL.Image.fromarray(skimage.data.astronaut()).save(photo)
    code = (
        "import sys; from facereject._cli import main\n"
        f"sys.argv = ['facereject', 'score', {str(photo)!r}, '--json']\n"
        "try:\n    main()\n"
        "finally:\n"
        "    heavy = ('av', 'numpy.ma', 'sklearn', 'scipy', 'skimage', 'pandas', 'matplotlib', 'dask')\n"
        "    print([m for m in heavy if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["source"] == str(photo)
    assert done.stderr.splitlines()[-1] == "[]"


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
    # the contracts of pyproject.toml; from the root, where it looks for them
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"],
        cwd=PACKAGE.parent,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_every_part_has_a_place_in_the_layers():
    settings = (PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8")
    (layers,) = re.findall(r'containers = \["facereject"\]\nlayers = \[(.*?)\]', settings, flags=re.S)
    files, folders = PACKAGE.glob("*.py"), PACKAGE.glob("*/__init__.py")
    parts = {file.stem for file in files} | {file.parent.name for file in folders}
    assert parts - {"__init__"} <= set(re.findall(r"\w+", layers))


@pytest.mark.parametrize("part", ["faces", "sources", "tracking", "outputs", "pipeline"])
def test_public_callables_have_few_parameters(part):
    module = importlib.import_module(f"facereject.{part}")
    callables = {name: getattr(module, name) for name in module.__all__}
    for name, value in list(callables.items()):
        if inspect.isclass(value):
            methods = inspect.getmembers(value, inspect.isroutine)
            callables |= {f"{name}.{method}": each for method, each in methods if not method.startswith("_")}
    counted = {
        name: len(inspect.signature(each).parameters)
        for name, each in callables.items()
        if (inspect.isclass(each) or inspect.isfunction(each) or inspect.ismethod(each))
        and str(getattr(each, "__module__", "")).startswith("facereject")
        and "Error" not in name
    }
    assert counted
    assert {name: n for name, n in counted.items() if n > 13} == {}


def test_a_class_name_exists_once():
    places: dict[str, list[str]] = {}
    for file in files_of("."):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(file.relative_to(PACKAGE)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_folders_can_be_taken_in_at_a_glance():
    for folder in {file.parent for file in files_of(".")}:
        names = sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("__"))
        public = [name for name in names if not name.startswith("_")]
        assert len(public) <= 13, f"{folder.name}: {', '.join(public)}"
        assert len(names) <= 20, f"{folder.name}: {', '.join(names)}"


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


def test_names_of_test_files_are_unique():
    """Test files are imported by their bare names."""
    names = [path.name for path in Path(__file__).parent.rglob("*.py") if path.name != "conftest.py"]
    assert sorted(names) == sorted(set(names))
