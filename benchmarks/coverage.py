"""How often the 95 % interval of a mean over few seeds holds the true mean, pooled and not.

    python -m benchmarks.coverage [--repetitions 4000]

Worlds: configurations whose scores are beta distributed, with true means drawn from .6 to .9 and standard deviations
around .02 that typically differ by a factor of 1.5 or 2 between configurations; with `collapse`, each seed falls to .06
with that probability, and the true mean with it. Pooled intervals are those of `search/ranking/summary.py`, over all
configurations of the world. The other column is Student's t over a configuration's own seeds, cut off at 0 and 1.
"""

import argparse

import numpy as np

from seedwise.search.ranking.summary import NO_POOL, Pool, summary

COLLAPSED, FLUCTUATION = 0.06, 0.005  # mean and sd of a collapsed run's score
WIDEST = 0.12  # sd; a wider beta distribution has no such mean
SEEDS, ROWS = (2, 3, 5, 10), (1, 2, 3, 6, 10)
WORLDS = ((0.0, 0.4), (0.0, 0.7), (0.2, 0.4))  # share of seeds that collapse, and sd of the logarithm of spreads


def world(
    draw: np.random.Generator, rows: int, n: int, collapse: float, spread: float
) -> tuple[np.ndarray, np.ndarray]:
    """True means by configuration, and scores by configuration and seed."""
    mean, sd = draw.uniform(0.6, 0.9, rows), np.minimum(0.02 * np.exp(draw.normal(0, spread, rows)), WIDEST)
    size = (mean * (1 - mean) / sd**2 - 1)[:, None]
    scores = draw.beta(mean[:, None] * size, (1 - mean[:, None]) * size, (rows, n))
    fallen = COLLAPSED + draw.normal(0, FLUCTUATION, (rows, n))
    scores = np.where(draw.random((rows, n)) < collapse, fallen, scores)
    return (1 - collapse) * mean + collapse * COLLAPSED, scores


def coverage(
    n: int, rows: int, collapse: float, repetitions: int, seed: int, spread: float = 0.4
) -> tuple[float, float]:
    """The share of intervals that hold the true mean: pooled, and of Student's t alone."""
    draw, held = np.random.default_rng(seed), np.zeros(2)
    for _ in range(repetitions):
        truth, scores = world(draw, rows, n, collapse, spread)
        groups = scores.tolist()
        pool = Pool.of(groups)
        for true, group in zip(truth, groups, strict=True):
            both = (summary(group, others, (0.0, 1.0)) for others in (pool.without(group), NO_POOL))
            held += [over.ci_low <= true <= over.ci_high for over in both]
    return tuple(held / (repetitions * rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=4000, help="worlds for each cell (default: 4000)")
    repetitions = parser.parse_args().repetitions
    print(f"coverage of 95 % intervals, pooled / Student's t alone; {repetitions} worlds for each cell")
    print(
        "| seeds that collapse | spreads differ by | configurations | " + " | ".join(f"{n} seeds" for n in SEEDS) + " |"
    )
    print("|---" * (3 + len(SEEDS)) + "|")
    for collapse, spread in WORLDS:
        for rows in ROWS:
            cells = [coverage(n, rows, collapse, repetitions, 1000 * rows + n, spread) for n in SEEDS]
            texts = " | ".join(f"{100 * pooled:.1f} / {100 * alone:.1f}" for pooled, alone in cells)
            print(f"| {collapse:.0%} | {np.exp(spread):.1f} | {rows} | {texts} |", flush=True)


if __name__ == "__main__":
    main()
