"""Do risk guarantees hold where new examples can share values of the uncertainty? Many known distributions.

    python tools/bench/shared_values.py                   # 4,000 samples per case, about 10 minutes
    python tools/bench/shared_values.py --draws 500
    python tools/bench/record.py shared_values --as guarantees_shared_values

Each row: how many cases of a kind there are, and the largest share of wrong certificates among them, beside
delta and delta plus three standard errors. A certificate is wrong if the true risk of its threshold is above
the bound.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from facereject.selection import NoValidThresholdError, guaranteed_risk

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "selection"))

from guarantee_problems import Mixture, Piece, allowed, bad_atom, levels, step

BOUND, DELTA = 0.1, 0.1
METHODS = ("binomial", "betting", "hoeffding-bentkus")

Case = tuple[str, Mixture, int, dict[str, Any]]


def cases() -> Iterator[Case]:
    """Kind, distribution, size of the sample and options of ``guaranteed_risk``."""
    for n, method in itertools.product((20, 67, 200), METHODS):
        for risk in (0.10001, 0.12):
            yield "continuous", Mixture([Piece(1, 0, 1, risk)]), n, {"method": method}
        waves = [Piece(0.1, 0, 0.1, 0.14), Piece(0.25, 0.1, 0.35, 0.08), Piece(0.65, 0.4, 1, 0.11)]
        yield "continuous", Mixture(waves), n, {"method": method}
    for number, n in itertools.product((2, 3, 5, 10, 30, 100, 300, 1000), (20, 67, 200)):
        for high in (0.10001, 0.15, 0.19):
            turns = [0.2002 - high, high]
            mixture = Mixture(levels(number, lambda u, turns=turns: np.resize(turns, len(u))))
            yield "discrete, 2 to 1,000 values", mixture, n, {}
    for per_sample, n in itertools.product((1, 2, 4, 10), (50, 200)):
        for (first, last), method in itertools.product(((1, 0), (0, 1), (1, 0.1), (0, 0.1)), METHODS):
            pieces = step(per_sample / n, float(first), last, BOUND)
            yield "atoms of 1/n to 10/n", Mixture(pieces), n, {"method": method}
            if method == "betting":
                yield "atoms, real losses", Mixture(pieces, loss="real"), n, {"method": method}
        for start in (0.59, 0.65, 0.7):
            pieces = step(per_sample / n, 1.0, 0.05, BOUND)
            yield "atoms, a start fixed in advance", Mixture(pieces), n, {"start": start}
            yield "atoms, start and ranks", Mixture(pieces), n, {"start": start, "start_share": 0.5}
    for size, n in itertools.product((0.101, 0.11, 0.13), (22, 30, 33, 50, 67)):
        yield "one wrong atom at the end", Mixture(bad_atom(size)), n, {}
    for many, n in itertools.product((5, 20), (60, 200)):
        atoms = [Piece(1 / n, 0.1 + i, 0.1 + i, float(i % 2)) for i in range(many)]
        between = [Piece(1 / many, 0.2 + i, 0.9 + i, 0.1 - 0.9 * many / n * (i % 2)) for i in range(many)]
        clipped = [piece._replace(risk=max(piece.risk, 0.02)) for piece in between]
        yield "atoms between continuous parts", Mixture(atoms + clipped), n, {}
    yield "n = 2,000", Mixture(step(2 / 2000, 1.0, 0.05, BOUND)), 2000, {}
    yield "n = 2,000", Mixture(levels(1000, lambda u: np.full_like(u, 0.10001))), 2000, {}


def kind_of(case: Case) -> str:
    return case[0]


def wrong(mixture: Mixture, n: int, options: dict[str, Any], draws: int, rng: np.random.Generator) -> float:
    found = np.full(draws, -np.inf)
    for i in range(draws):
        losses, u = mixture.draw(rng, n)
        try:
            found[i] = guaranteed_risk(losses, u, BOUND, DELTA, **options).threshold_
        except NoValidThresholdError:
            continue
    return float(np.mean(mixture.risk(found) > BOUND * (1 + 1e-9)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=4000, help="calibration samples per case")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    limit = allowed(options.draws, DELTA)
    print(f"bound {BOUND:g}, delta {DELTA:g}, {options.draws:,} samples per case; allowed {limit:.4f}")
    for kind, group in itertools.groupby(sorted(cases(), key=kind_of), key=kind_of):
        shares = [wrong(mixture, n, extra, options.draws, rng) for _, mixture, n, extra in group]
        verdict = "held" if max(shares) <= limit else "BROKEN"
        print(f"{kind:34} {len(shares):4} cases  wrong at most {max(shares):.4f}  {verdict}", flush=True)


if __name__ == "__main__":
    main()
