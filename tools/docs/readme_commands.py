"""README's first commands, run as a new user would: python tools/docs/readme_commands.py

The commands are those of the first block of README.md, in a fresh clone and with an empty home folder. Of
the tests only those named in --tests are run, as all of them take minutes; "" runs all.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]

# what the shell of a new user does not have
_OURS = ("FACEREJECT_", "PYTHONPATH", "VIRTUAL_ENV")


def commands(readme: str, repository: str) -> list[str]:
    """The lines of the first block of shell commands, with the repository filled in."""
    block = re.search(r"```sh\n(.*?)```", readme, flags=re.S)
    if block is None:
        raise ValueError("README.md has no block of commands")
    lines = [line.split("#")[0].strip() for line in block[1].splitlines()]
    return [line.replace("<repository>", f"'{repository}' facereject") for line in lines if line]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tests", default="tests/test_readme.py", help="tests that `make test` runs")
    options = parser.parse_args()
    script = "\n".join(["set -eu", *commands((ROOT / "README.md").read_text(encoding="utf-8"), str(ROOT))])
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home")
        home.mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        environment = kept | {"HOME": str(home), "PYTEST_ARGS": options.tests}
        print(script, flush=True)
        return subprocess.run(["bash", "-c", script], cwd=folder, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
