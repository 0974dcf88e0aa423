"""The examples of docs/solver.md run as they stand, and the scripts it names exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "solver.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)


def test_the_examples_run_one_after_the_other(capsys):
    names: dict = {}
    for example in EXAMPLES:
        exec(compile(example, "docs/solver.md", "exec"), names)
    fitted = names["fitted"]
    assert fitted.score.gap_ <= 0.01
    assert capsys.readouterr().out.startswith(f"{fitted.score.alpha_} ")
    for name in ("own", "svm"):
        assert names[name].score(names["X"], names["y"]) > 0.9
    assert names["ordered"].score(names["X"], names["y"]) > -0.1


def test_the_score_is_ten_lines():
    lines = [line for line in EXAMPLES[0].splitlines() if line.strip() and "import" not in line]
    assert len(lines) <= 10


def test_scripts_and_names_exist():
    for script in set(re.findall(r"(?:tools|tests)/[\w/]+\.py", PAGE)):
        assert (ROOT / script).is_file(), script
