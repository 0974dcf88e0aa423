"""Keep the output of a bench, with date, machine and versions, for the page docs/benchmarks.md.

    python tools/bench/record.py sele_risk
    python tools/bench/record.py media photos --photos 400 --repeats 1

Runs ``tools/bench/NAME.py``, or else the module ``tools.train.NAME``, with the given options and writes its
output to ``results/bench/NAME.txt``, or under the name given by ``--as``. Nothing is written if it fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from scale import machine

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = ROOT / "results" / "bench"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name")
    parser.add_argument("--as", dest="file", help="name of the file, if not that of the bench")
    options, others = parser.parse_known_args()
    script = HERE / f"{options.name}.py"
    if script.is_file():
        command = [str(script.relative_to(ROOT)), *others]
    elif (HERE.parent / "train" / script.name).is_file():
        command = ["-m", f"tools.train.{options.name}", *others]
    else:
        parser.error(f"{script}: no such bench")
    load = f"{os.getloadavg()[0] / (os.cpu_count() or 1):.1f}"
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{options.name}: exit code {done.returncode}; nothing was written")
    facts = {**machine(), "load per core before": load}
    header = [f"$ python {' '.join(command)}"]
    header.append("# " + ", ".join(f"{name} {value}" for name, value in facts.items()))
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{options.file or options.name}.txt"
    path.write_text("\n".join([*header, "", done.stdout.rstrip(), ""]), encoding="utf-8")
    print(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
