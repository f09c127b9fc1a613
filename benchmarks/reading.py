"""Reading a .vec file against gensim, in the same run: `python -m benchmarks.reading [--rows N]`.

Prints seconds of one core (CPU time, so that a busy machine counts less) and how many times as fast the reading is. The
default of 20 000 words takes some seconds, 200 000 x 300 a minute. Needs the extra `fasttext`.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors

from seedwise.trainables.inputs.vectors import read_vectors


def write(path: Path, rows: int, dimensions: int) -> None:
    """Made-up vectors with four decimals, as fastText publishes them."""
    draw = np.random.default_rng(0)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{rows} {dimensions}\n")
        for row in range(rows):
            numbers = " ".join([f"{number:.4f}" for number in draw.normal(scale=0.3, size=dimensions)])
            file.write(f"word{row} {numbers}\n")


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds that the work takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--dimensions", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SEEDWISE_CACHE"] = folder
        path = Path(folder) / "made.vec"
        write(path, options.rows, options.dimensions)
        theirs = seconds(lambda: KeyedVectors.load_word2vec_format(str(path)))
        first = seconds(lambda: read_vectors(path, "vectors", rows=options.rows))
        again = seconds(lambda: read_vectors(path, "vectors", rows=options.rows))
    print(f"{options.rows} x {options.dimensions}: gensim {theirs:.2f} s")
    print(f"first reading {first:.2f} s: {theirs / first:.1f} times as fast")
    print(f"later readings {again:.3f} s: {theirs / again:.0f} times as fast")


if __name__ == "__main__":
    main()
