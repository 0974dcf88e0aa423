"""The files around the code agree with it: the container, the hooks, the citation."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import facereject
from tools.count_lines import count

ROOT = Path(__file__).parents[1]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_hooks_run_what_make_lint_runs():
    hooks = yaml.safe_load(text_of(".pre-commit-config.yaml"))["repos"][0]["hooks"]
    tools = [shlex.split(hook["entry"])[0].removeprefix(".venv/bin/") for hook in hooks]
    recipe = re.search(r"^lint:.*?\n((?:\t.*\n)+)", text_of("Makefile"), re.M)
    assert tools == re.findall(r"\$\(BIN\)/([\w-]+)", recipe[1])


def test_the_container_copies_what_exists_and_is_not_root():
    lines = text_of("Dockerfile").splitlines()
    kept = {line[1:] for line in text_of(".dockerignore").splitlines() if line[:1] == "!"}
    copied = [
        word
        for line in lines
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    ]
    assert set(copied) == kept
    for name in copied:
        assert (ROOT / name).exists()
    last_user = [line.split()[1] for line in lines if line.startswith("USER ")][-1]
    assert last_user.isdigit()
    assert last_user != "0"
    (entry,) = [line for line in lines if line.startswith("ENTRYPOINT")]
    assert entry == 'ENTRYPOINT ["facereject", "score"]'


def test_the_container_passes_its_linter():
    tool = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if tool is None:
        pytest.skip("hadolint is not installed; it comes with facereject[dev]")
    done = subprocess.run(
        [tool, "--no-color", str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_citation_names_software_licence_and_paper():
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == facereject.__version__
    assert citation["license"] in text_of("pyproject.toml")
    assert [author["family-names"] for author in citation["references"][0]["authors"]] == [
        "Franc",
        "Průša",
        "Voráček",
    ]


def test_pages_name_scripts_that_exist():
    pages = [path for folder in (".", "docs", "results", "tools") for path in (ROOT / folder).glob("*.md")]
    for page in pages:
        if page.name == "CHANGELOG.md":  # tells of what was
            continue
        text = page.read_text(encoding="utf-8")
        scripts = set(re.findall(r"(?:tools|data_scripts)/[\w/]+\.py", text))
        scripts |= {f"{name.replace('.', '/')}.py" for name in re.findall(r"-m (tools\.\w+\.\w+)", text)}
        scripts |= {f"tools/{name}/__main__.py" for name in re.findall(r"-m tools\.(\w+)[` \n]", text)}
        missing = {name for name in scripts if "NAME" not in name and not (ROOT / name).is_file()}
        assert not missing, page.name


def test_blank_lines_comments_and_docstrings_are_no_code():
    text = '"""Doc.\n\nMore."""\nx = 1  # why\n\n# a comment\ny = """a\n\nb"""\n'
    function = 'def f():\n    "Doc."\n    return (\n        x\n    )\n'
    assert (count(text), count(function)) == (3, 4)


def test_the_guards_of_security_exist():
    text = text_of("SECURITY.md")
    tests = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    named = set(re.findall(r"`(test_\w+\.py)`", text))
    assert len(named) > 15
    assert named <= tests
    known = set(re.findall(r'^    "([a-z ]+)": Kind', text_of("tools/stress/__main__.py"), re.M))
    # stress `a`, `b` names kinds
    kinds = {
        kind for part in re.findall(r"stress ((?:`[a-z ]+`(?:, )?)+)", text) for kind in part.split("`")[1::2]
    }
    assert {"kills", "disk", "signals", "outputs", "server"} <= kinds <= known


def test_every_script_is_explained():
    page = (ROOT / "tools" / "README.md").read_text(encoding="utf-8")
    scripts = [
        file.stem for folder in ("train", "bench") for file in (ROOT / "tools" / folder).glob("[a-z]*.py")
    ]
    assert [name for name in scripts if f"`{name}`" not in page] == []
