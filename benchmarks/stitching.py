"""Neighbours and tables of stitching at full size: against the matrix product alone, faiss, and their own repetition.

    python -m benchmarks.stitching            # 200 000 words x 300, 12 000 anchors, k = 50 (about four minutes)
    python -m benchmarks.stitching --small    # a tenth of the words

Four figures, each the median of `--repeat` turns in which all parties take part one after the other:
- finding the k nearest anchors of all words, as a multiple of the product of words and anchors alone, in the same
  blocks, with nothing kept of it (the faster of torch's own threads and one product per thread);
- the same, as a share of faiss's exact search (IndexFlatIP) on the same unit vectors;
- the largest memory that finding them and making the table takes beyond the inputs;
- making the tables of 50 configurations that differ in k, tau and weighting, as a multiple of making one.
"""

import argparse
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import numpy as np
import torch

from seedwise.trainables.stitching.options import StitchingOptions
from seedwise.trainables.stitching.tables import BLOCK, combine, neighbours

WORDS, ANCHORS, DIMENSIONS, WIDTH, K = 200_000, 12_000, 300, 384, 50  # WIDTH: of the encoder's table
CONFIGURATIONS, LARGEST_K = 50, 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a tenth of the words")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="turns of which the median counts")
    options = parser.parse_args()
    count = WORDS // 10 if options.small else WORDS
    words, anchors, source = inputs(count)
    print(f"{count} words x {DIMENSIONS}, {ANCHORS} anchors, k = {K}, {torch.get_num_threads()} threads")

    parties = {
        "one product per thread": lambda: product_per_thread(words, anchors),
        "product on all threads": lambda: product(words, anchors),
        "nearest anchors": lambda: neighbours(words, anchors, K),
    }
    try:
        parties["faiss IndexFlatIP"] = with_faiss(words, anchors)
    except ImportError:
        print("faiss is not installed (extra `bench`): no comparison with it")
    seconds = timed(parties, options.repeat)
    alone = min(seconds["one product per thread"], seconds["product on all threads"])
    own = seconds["nearest anchors"]
    print(f"nearest anchors / product alone: {own / alone:.2f} (goal: at most 1.3)")
    if "faiss IndexFlatIP" in seconds:
        print(f"nearest anchors / faiss: {own / seconds['faiss IndexFlatIP']:.2f} (goal: below 1)")

    peak = peak_memory(
        lambda: combine(neighbours(words, anchors, K), source, K, StitchingOptions(weighting="softmax", tau=0.1))
    )
    print(f"largest memory beyond the inputs / 1 GB: {peak / 1e9:.2f} (goal: below 1), the table itself included")

    several = configurations()
    tables = timed(
        {
            "one configuration": lambda: make(words, anchors, source, several[:1]),
            f"{len(several)} configurations": lambda: make(words, anchors, source, several),
        },
        max(1, options.repeat // 2),
    )
    for_one, for_all = tables.values()
    print(f"{len(several)} configurations / one: {for_all / for_one:.2f} (goal: below 3)")


def inputs(count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Vectors with a common direction and falling spread, as word vectors have; anchors are noisy copies of words."""
    draw = np.random.default_rng(0)
    spread = np.linspace(1.5, 0.5, DIMENSIONS, dtype=np.float32)
    words = draw.standard_normal((count, DIMENSIONS), dtype=np.float32) * spread + 0.3
    some = words[draw.choice(count, ANCHORS, replace=False)]
    anchors = some + 0.3 * draw.standard_normal(some.shape, dtype=np.float32)
    return tuple(map(torch.from_numpy, (words, anchors, draw.standard_normal((ANCHORS, WIDTH), dtype=np.float32))))


def product(words: torch.Tensor, anchors: torch.Tensor) -> None:
    across, out = anchors.T.contiguous(), torch.empty(BLOCK, len(anchors))
    for first in range(0, len(words), BLOCK):
        block = words[first : first + BLOCK]
        torch.mm(block, across, out=out[: len(block)])


def product_per_thread(words: torch.Tensor, anchors: torch.Tensor) -> None:
    threads, across, local = torch.get_num_threads(), anchors.T.contiguous(), threading.local()

    def block(first: int) -> None:
        if not hasattr(local, "out"):
            local.out = torch.empty(BLOCK, len(anchors))
        some = words[first : first + BLOCK]
        torch.mm(some, across, out=local.out[: len(some)])

    with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        list(pool.map(block, range(0, len(words), BLOCK)))
    torch.set_num_threads(threads)


def with_faiss(words: torch.Tensor, anchors: torch.Tensor) -> Callable[[], object]:
    import faiss

    unit = [torch.nn.functional.normalize(vectors).numpy() for vectors in (words, anchors)]
    index = faiss.IndexFlatIP(DIMENSIONS)
    index.add(unit[1])
    return lambda: index.search(unit[0], K)


def configurations() -> list[tuple[int, StitchingOptions]]:
    """k from 1 to 200 and tau from 0.01 to 1, both log-uniform, in turn with each weighting: as the space has them."""
    draw = np.random.default_rng(1)
    names = ("softmax", "standard", "sparsemax", "entmax")
    drawn = []
    for number in range(CONFIGURATIONS):
        k = round(float(np.exp(draw.uniform(0, np.log(LARGEST_K))))) if number else K
        tau = float(np.exp(draw.uniform(np.log(0.01), 0)))
        drawn.append((k, StitchingOptions(weighting=names[number % len(names)], tau=tau)))
    return drawn


def make(
    words: torch.Tensor, anchors: torch.Tensor, source: torch.Tensor, some: list[tuple[int, StitchingOptions]]
) -> None:
    """The tables of some configurations, as a search makes them: neighbours once, at the largest k of the space."""
    nearest = neighbours(words, anchors, LARGEST_K)
    for k, options in some:
        combine(nearest, source, k, options)


def timed(parties: dict[str, Callable[[], object]], repeat: int) -> dict[str, float]:
    """Median seconds of each, after a warm-up turn."""
    seconds: dict[str, list[float]] = {name: [] for name in parties}
    for turn in range(repeat + 1):
        for name, party in parties.items():
            if turn == 0 and repeat == 1:
                continue
            started = time.perf_counter()
            party()
            if turn:
                seconds[name].append(time.perf_counter() - started)
    medians = {name: median(values) for name, values in seconds.items()}
    for name, value in medians.items():
        print(f"  {name}: {value:.2f} s")
    return medians


def peak_memory(work: Callable[[], object]) -> int:
    """Peak growth of this process in bytes during the work, sampled every millisecond."""
    before, most, done = resident(), 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.001):
            most = max(most, resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    work()
    done.set()
    watcher.join()
    return most - before


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


if __name__ == "__main__":
    main()
