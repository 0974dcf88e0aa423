"""Do the guarantees hold, and what are they worth? Many calibration samples from known distributions.

    python tools/bench/guarantees.py                        # 2,000 samples per row, about 15 minutes
    python tools/bench/guarantees.py --draws 200
    python tools/bench/guarantees.py --pictures docs        # the pictures of docs/guarantees.md only

Each row: the mean true coverage of the certified threshold (0 where there is none) and how often its true
risk is above the bound, which may happen in a share delta of the samples. delta = 0.05, max_risk = 0.05,
unless the row says otherwise; uncertainties u are uniform in (0, 1).
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from facereject.selection import (
    CoverageMonitor,
    NoValidThresholdError,
    RiskMonitor,
    density_ratio,
    guaranteed_risk,
    guaranteed_risk_per_group,
    suggest_start,
)
from facereject.selection.pvalues import (
    betting_p_values,
    binomial_p_value,
    hedged_betting_p_values,
    hoeffding_bentkus_p_value,
)

MAX_RISK, DELTA = 0.05, 0.05
Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]
LEVELS = {"easy": 0.1, "middle": 0.3, "hard": 0.6}  # risk level * u^2 of the groups


def zero_one(risk: Callable[[np.ndarray], np.ndarray]) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        u = rng.random(n)
        return (rng.random(n) < risk(u)).astype(float), u

    return draw


def real(concentration: float) -> Draw:
    """Losses of mean m = 0.4 u^2, Beta distributed: their variance is m (1 - m) / (1 + concentration)."""

    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        u = rng.random(n)
        mean = np.maximum(0.4 * u**2, 1e-9)
        return rng.beta(concentration * mean, concentration * (1 - mean)), u

    return draw


def mean_loss(u: np.ndarray) -> np.ndarray:
    return np.maximum(0.4 * u**2, 1e-9)


# Real losses whose mean is 0.4 u^2, from narrow to wide.
NOISE: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "uniform in (0, 0.8 u^2)": lambda rng, m: 2 * m * rng.random(m.size),
    "exponential": lambda rng, m: np.minimum(m * rng.exponential(size=m.size), 1.0),
    "Beta, concentration 5": lambda rng, m: rng.beta(5 * m, 5 * (1 - m)),
    "gamma, shape 1/4": lambda rng, m: np.minimum(4 * m * rng.gamma(0.25, size=m.size), 1.0),
    "Beta, concentration 2": lambda rng, m: rng.beta(2 * m, 2 * (1 - m)),
    "0 or 0.5": lambda rng, m: 0.5 * (rng.random(m.size) < 2 * m),
    "Beta, concentration 1": lambda rng, m: rng.beta(m, 1 - m),
    "0 or uniform in (0, 1)": lambda rng, m: rng.random(m.size) * (rng.random(m.size) < 2 * m),
}


def tied(draw: Draw) -> Draw:
    """The same with 20 levels of uncertainty."""

    def coarse(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        losses, u = draw(rng, n)
        return losses, (np.floor(20 * u) + 1) / 20

    return coarse


def quadratic(u: np.ndarray) -> np.ndarray:
    return 0.3 * u**2


SHAPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "a little too large everywhere": lambda u: np.full_like(u, 1.0001 * MAX_RISK),
    "waves around the bound": lambda u: np.select([u < 0.1, u < 0.35, u < 0.5], [0.07, 0.04, 0.065], 0.0525),
    "good, then far too large": lambda u: np.where(u < 0.5, 0.002, 0.2),
}


def true_risk(
    risk: Callable[[np.ndarray], np.ndarray], density: Callable[[np.ndarray], np.ndarray] = np.ones_like
) -> Callable[[float], float]:
    grid = (np.arange(100_000) + 0.5) / 100_000
    mass, loss = np.cumsum(density(grid)), np.cumsum(density(grid) * risk(grid))

    def at(threshold: float) -> float:
        k = int(np.searchsorted(grid, threshold, side="right"))
        return float(loss[k - 1] / mass[k - 1]) if k else 0.0

    return at


def study(
    certify: Callable[[], float | None], risk: Callable[[float], float], draws: int
) -> tuple[float, float]:
    """Mean true coverage, and share of draws whose true risk is above the bound."""
    coverage, failed = 0.0, 0
    for _ in range(draws):
        try:
            threshold = certify()
        except NoValidThresholdError:
            threshold = None
        if threshold is not None:
            coverage += min(threshold, 1.0)
            failed += risk(min(threshold, 1.0)) > MAX_RISK * (1 + 1e-6)
    return coverage / draws, failed / draws


def fixed_sequence(losses: np.ndarray, u: np.ndarray, n_starts: int = 5) -> float | None:
    """Learn then test over 100 thresholds fixed in advance, as usual: Hoeffding-Bentkus, several starts."""
    grid = np.arange(1, 101) / 100
    order = np.argsort(u)
    counts = np.searchsorted(u[order], grid, side="right")
    sums = np.append(0.0, np.cumsum(losses[order]))[counts]
    some = np.maximum(counts, 1)
    p = np.where(counts > 0, hoeffding_bentkus_p_value(sums / some, some, MAX_RISK), 1.0)
    best = None
    for first in range(0, 100, 100 // n_starts):
        failed = np.flatnonzero(p[first:] > DELTA / n_starts)
        last = first + int(failed[0]) - 1 if len(failed) else 99
        if last >= first:
            best = last if best is None else max(best, last)
    return None if best is None else float(grid[best])


def report(name: str, result: tuple[float, float], target: float | None = None) -> None:
    coverage, failed = result
    wanted = (
        "" if target is None else f"  target {target:.2f} {'reached' if coverage >= target else 'MISSED'}"
    )
    print(f"{name:62}  coverage {coverage:.3f}  risk exceeded {failed:.4f}{wanted}", flush=True)


def small_samples(draws: int, rng: np.random.Generator) -> None:
    print("0/1 loss with risk 0.3 u^2 (oracle 0.71), then a real loss with mean 0.4 u^2 (oracle 0.61)")
    for name, draw, risk, sizes in [
        ("0/1", zero_one(quadratic), true_risk(quadratic), {200: 0.13, 500: 0.45, 2000: 0.61}),
        ("real", real(5), true_risk(lambda u: 0.4 * u**2), {500: 0.48, 2000: None}),
        ("real, wide", real(2), true_risk(lambda u: 0.4 * u**2), {500: 0.48}),
    ]:
        for n, target in sizes.items():

            def once(
                start: float | None,
                share: float = 1.0,
                draw: Draw = draw,
                n: int = n,
                random_state: int | None = None,
            ) -> float:
                losses, u = draw(rng, n)
                return guaranteed_risk(
                    losses=losses,
                    uncertainty=u,
                    max_risk=MAX_RISK,
                    start=start,
                    start_share=share,
                    random_state=random_state,
                ).threshold_

            fixed = study(lambda: fixed_sequence(*draw(rng, n)), risk, draws)  # noqa: B023
            report(f"{name}, n = {n}: fixed sequence of 100 thresholds", fixed)
            floor = 0.34 if (name, n) == ("0/1", 500) else None
            report(f"{name}, n = {n}: ranks (no start)", study(lambda: once(None), risk, draws), floor)
            report(f"{name}, n = {n}: start = 0.33", study(lambda: once(0.33), risk, draws), target)
            if n <= 500:  # the order of bets takes a time that grows with n squared
                seeds = itertools.count()
                randomised = study(lambda: once(0.33, random_state=next(seeds)), risk, draws)  # noqa: B023
                report(f"{name}, n = {n}: start = 0.33, random_state", randomised, target)
            # Training examples are drawn anew for every hundredth sample.
            starts = [
                suggest_start(*draw(rng, 1000), MAX_RISK, n, start_share=0.9)
                for _ in range(max(draws // 100, 1))
            ]

            def suggested(starts: list[float | None] = starts) -> float:
                start = starts[int(rng.integers(len(starts)))]
                return once(start, 1.0 if start is None else 0.9)

            report(
                f"{name}, n = {n}: start suggested by 1,000 others, 0.9 of delta",
                study(suggested, risk, draws),
            )


def real_losses(draws: int, rng: np.random.Generator) -> None:
    print("\nreal losses with mean 0.4 u^2 (oracle 0.61), n = 500, start = 0.33, by the test that is used")

    def bet(share: float) -> Callable[[np.ndarray], np.ndarray]:
        """1 / the capital of one bet, as a share of the largest one."""
        return lambda x: 1 / np.exp(np.cumsum(np.log1p(share / (1 - MAX_RISK) * (MAX_RISK - x))))

    def hedged(randomised: bool) -> Callable[[np.ndarray], np.ndarray]:
        return lambda x: hedged_betting_p_values(
            x, MAX_RISK, DELTA, int(rng.integers(2**31)), randomised=randomised
        )

    def hoeffding_bentkus(x: np.ndarray) -> np.ndarray:
        counts = np.arange(1, len(x) + 1)
        return hoeffding_bentkus_p_value(np.cumsum(x) / counts, counts, MAX_RISK)

    def rounded(x: np.ndarray) -> np.ndarray:
        counts = np.arange(1, len(x) + 1)
        return binomial_p_value(np.cumsum(rng.random(len(x)) < x), counts, MAX_RISK)

    def best_moment(x: np.ndarray) -> np.ndarray:
        """Largest capital of the bet 0.95 while the first k losses come in a random order (Ville)."""
        order = rng.permutation(len(x))
        gains = np.log1p(0.95 / (1 - MAX_RISK) * (MAX_RISK - x))[order]
        among = order < np.arange(1, len(x) + 1)[:, None]
        return np.exp(-np.maximum(np.cumsum(gains * among, axis=1).max(axis=1), 0.0))

    # Exponential variables of all samples: P(sum_i E_i (x_i - risk) + E_0 (1 - risk) >= 0)
    exponential = rng.exponential(size=(1000, 501))

    def gaffke(x: np.ndarray) -> np.ndarray:
        sums = np.cumsum(exponential[:, 1:] * (x - MAX_RISK), axis=1) + exponential[:, :1] * (1 - MAX_RISK)
        return (sums >= 0).mean(axis=0)

    tests: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "hedged bets, the default": hedged(False),
        "hedged bets with random_state": hedged(True),
        "mixture of bets": lambda x: betting_p_values(x, MAX_RISK, DELTA),
        "bet 0.95, p-value times a random number": lambda x: rng.random() * bet(0.95)(x),
        "bet 0.99": bet(0.99),
        "bet 0.95, best moment in a random order": best_moment,
        "Gaffke's bound (validity is a conjecture)": gaffke,
        "Hoeffding-Bentkus": hoeffding_bentkus,
        "rounded at random to 0 or 1, binomial": rounded,
    }
    risk = true_risk(mean_loss)
    for name, noise in NOISE.items():
        samples = []
        for _ in range(draws):
            u = np.sort(rng.random(500))
            samples.append((noise(rng, mean_loss(u)), u))
        for label, test in tests.items():

            def walk(losses: np.ndarray, u: np.ndarray, test: Any = test) -> float | None:
                first = int(np.searchsorted(u, 0.33, side="right"))
                failed = np.flatnonzero(np.append(1.0, test(losses))[first:] > DELTA)
                passed = int(failed[0]) if len(failed) else len(u) - first + 1
                k = first + passed - 1
                return None if passed == 0 else 1.0 if k == len(u) else max(0.33, float(u[k - 1]))

            left = iter(samples)
            report(f"{name}: {label}", study(lambda: walk(*next(left)), risk, draws))  # noqa: B023


def starts(draws: int, rng: np.random.Generator) -> None:
    """`suggest_start` imagines samples tested by a mixture of bets: is its start good for hedged ones?"""
    print("\nreal losses with mean 0.4 u^2, n = 500: by the start; and the starts suggested by 1,000 others")
    for name, draw in {"Beta, concentration 2": real(2), "Beta, concentration 5": real(5)}.items():
        samples = [draw(rng, 500) for _ in range(draws)]
        for start in (0.1, 0.2, 0.3, 0.4):
            left = iter(samples)

            def once(start: float = start, left: Any = left) -> float:
                return guaranteed_risk(*next(left), MAX_RISK, DELTA, start=start).threshold_

            report(f"{name}: start = {start}", study(once, true_risk(mean_loss), draws))
        suggested = [suggest_start(*draw(rng, 1000), MAX_RISK, 500) for _ in range(10)]
        print("  suggested:", *("none" if start is None else f"{start:.2f}" for start in suggested))


def attainable(draws: int, rng: np.random.Generator) -> None:
    """Coverage that bets could certify at most, if the distribution of the losses were known.

    The largest probability to reach 1 / delta with the k first losses in a random order is found by dynamic
    programming over the capital. No walk passes the count k more often.
    """
    print(
        "\nreal losses with mean 0.4 u^2, n = 500, start = 0.33: what any bets can reach, and the bets used"
    )
    n, first = 500, 165
    logs = np.linspace(np.log(1e-4), 0.0, 500)
    bets = np.array([0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.999]) / (1 - MAX_RISK)
    for name, noise in NOISE.items():
        counts, best, used = np.arange(first, 400, 15), [], []
        for k in counts:
            u = k / (n + 1) * rng.random((draws, k))
            losses = noise(rng, mean_loss(u.ravel())).reshape(u.shape)
            used.append(
                np.mean([hedged_betting_p_values(x, MAX_RISK, DELTA, 0)[-1] <= DELTA for x in losses])
            )
            # the largest tenth of the losses, on which most depends, in finer steps
            levels = np.append(np.linspace(0, 0.9, 40), np.linspace(0.9, 1, 61)[1:])
            edges = np.quantile(losses, levels)
            x, mass = 0.5 * (edges[1:] + edges[:-1]), np.diff(levels)
            gains = np.log1p(bets[:, None] * (MAX_RISK - x))
            value = (logs >= 0).astype(float)
            for _ in range(k):
                after = [np.interp(logs[:, None] + gain, logs, value, left=0.0) @ mass for gain in gains]
                value = np.max(after, axis=0)
                value[-1] = 1.0
            best.append(np.interp(np.log(DELTA), logs, value))
        for label, power in (("any bets", best), ("hedged bets", used)):
            # a walk that fails at the start certifies nothing; failures at later counts may be other ones
            covered = first / (n + 1) * power[0] + np.minimum.accumulate(power)[1:].sum() * 15 / (n + 1)
            print(f"{name}: {label:12}  coverage at most {covered:.3f}", flush=True)


def validity(draws: int, rng: np.random.Generator) -> None:
    print("\nshapes of the risk chosen to break it, n = 600")
    for name, shape in SHAPES.items():
        for ties in (False, True):
            draw = tied(zero_one(shape)) if ties else zero_one(shape)
            for start in (None, 0.3):

                def once(draw: Draw = draw, start: float | None = start) -> float:
                    losses, u = draw(rng, 600)
                    return guaranteed_risk(
                        losses=losses, uncertainty=u, max_risk=MAX_RISK, start=start
                    ).threshold_

                label = f"{name}{', 20 levels' if ties else ''}{', start = 0.3' if start else ''}"
                report(label, study(once, true_risk(shape), draws))


def groups(draws: int, rng: np.random.Generator) -> None:
    print("\nthree groups with risks 0.1, 0.3 and 0.6 u^2; the risk of the worst group counts; n = 4,000")
    risk = true_risk(lambda u: LEVELS["hard"] * u**2)

    def sample() -> dict[str, np.ndarray]:
        names = rng.choice(list(LEVELS), 4000, p=[0.5, 0.3, 0.2])
        u = rng.random(4000)
        level = np.array([LEVELS[name] for name in names])
        return {"losses": (rng.random(4000) < level * u**2) * 1.0, "uncertainty": u, "groups": names}

    def without() -> float:
        data = sample()
        del data["groups"]
        return guaranteed_risk(**data, max_risk=MAX_RISK).threshold_

    report("groups ignored", study(without, risk, draws))
    report(
        "one threshold", study(lambda: guaranteed_risk(**sample(), max_risk=MAX_RISK).threshold_, risk, draws)
    )
    coverage, failed = 0.0, 0
    for _ in range(draws):
        selector = guaranteed_risk_per_group(**sample(), max_risk=MAX_RISK)
        coverage += selector.coverage_
        failed += any(
            LEVELS[g] * min(max(t, 0), 1) ** 2 / 3 > MAX_RISK for g, t in selector.thresholds_.items()
        )
    report("a threshold for each", (coverage / draws, failed / draws))


def shift(draws: int, rng: np.random.Generator) -> None:
    print("\nrisk 0.3 u^2; new data have the density 2u; n = 3,000; coverage is the largest accepted u")
    risk = true_risk(quadratic, lambda u: 2 * u)
    draw = zero_one(quadratic)

    def once(kind: str) -> float:
        losses, u = draw(rng, 3000)
        weights = None
        if kind == "known":
            weights = 2 * u
        elif kind == "estimated":
            weights = density_ratio(np.log(u), np.log(np.sqrt(rng.random(3000))))
        return guaranteed_risk(losses=losses, uncertainty=u, max_risk=MAX_RISK, weights=weights).threshold_

    for kind in ("none", "known", "estimated"):
        report(f"weights: {kind}", study(lambda: once(kind), risk, draws))  # noqa: B023


def monitors(draws: int, rng: np.random.Generator) -> None:
    print("\nmonitors over 3,000 examples, delta = 0.05")
    for kind in ("risk", "coverage"):
        alarms = 0
        for _ in range(draws // 4):
            x = rng.random(3000) < 0.05
            monitor = RiskMonitor(0.05) if kind == "risk" else CoverageMonitor(0.95)
            alarms += monitor.update(x if kind == "risk" else ~x)
        print(f"{kind} exactly at the limit: false alarms in {alarms / (draws // 4):.4f} of the runs")
    for before, after in ((0, 0.1), (0, 0.2), (500, 0.1), (500, 0.2), (2000, 0.1)):
        delays = []
        for _ in range(max(draws // 20, 20)):
            monitor = RiskMonitor(0.05)
            monitor.update(rng.random(before) < 0.03)
            monitor.update(rng.random(3000) < after)
            delays.append((monitor.alarm_at_ or np.inf) - before)
        print(
            f"{before:5} labels at 0.03, then {after:.2f} (limit 0.05): alarm {np.median(delays):.0f} later"
        )


def pictures(folder: Path, rng: np.random.Generator) -> None:
    """One picture each: a guarantee, groups, shift, a monitor."""
    import matplotlib

    matplotlib.use("Agg")
    from facereject.plotting import GroupDisplay, GuaranteeDisplay, MonitorDisplay, ShiftDisplay

    losses, u = zero_one(quadratic)(rng, 1500)
    shown: dict[str, Any] = {"threshold": GuaranteeDisplay.from_predictions(losses, u, MAX_RISK, start=0.2)}
    many, v = zero_one(quadratic)(rng, 6000)
    shown["shift"] = ShiftDisplay.from_predictions(many, v, 2 * v, MAX_RISK)
    names = rng.choice(list(LEVELS), 6000, p=[0.5, 0.3, 0.2])
    grouped = (rng.random(6000) < np.array([LEVELS[name] for name in names]) * v**2) * 1.0
    selector = guaranteed_risk(losses=grouped, uncertainty=v, max_risk=MAX_RISK, groups=names)
    assert selector.guarantee_ is not None
    shown["groups"] = GroupDisplay.from_guarantee(selector.guarantee_)
    monitor = RiskMonitor(MAX_RISK)
    monitor.update(rng.random(800) < 0.03)
    monitor.update(rng.random(400) < 0.12)
    shown["monitor"] = MonitorDisplay.from_monitor(monitor)
    folder.mkdir(parents=True, exist_ok=True)
    for name, display in shown.items():
        path = folder / f"guarantees_{name}.png"
        display.figure_.savefig(path, dpi=80)
        print(f"{path} ({path.stat().st_size / 1000:.0f} kB)")


PARTS = {
    "small": small_samples,
    "real": real_losses,
    "starts": starts,
    "attainable": attainable,
    "validity": validity,
    "groups": groups,
    "shift": shift,
    "monitors": monitors,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=2000, help="calibration samples per row")
    parser.add_argument("--only", choices=PARTS, nargs="+", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--noise", choices=NOISE, metavar="NAME", help="one kind of real losses alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="write the pictures, nothing else")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    if options.pictures is not None:
        pictures(options.pictures, rng)
        return
    if options.noise:
        NOISE.update({options.noise: NOISE.pop(options.noise)})
        for name in list(NOISE)[:-1]:
            del NOISE[name]
    for name in options.only or PARTS:
        PARTS[name](options.draws, rng)


if __name__ == "__main__":
    main()
