"""How well word vectors of two languages are aligned. `python -m benchmarks.alignment DATA`, minutes.

French of 300 dimensions into the space of English of 100, vectors of different makers, by a dictionary of 5000 pairs,
or by the first hundred of them with and without self-learning. Tested on 2000 other pairs: precision at 1 by CSLS from
English, among the words that both sides have, as a ratio to a least-squares map with the same dictionary.
"""

import argparse
from pathlib import Path

import numpy as np

from seedwise.trainables.inputs.lexicons import Lexicon, read_lexicon
from seedwise.trainables.inputs.vectors import Vectors, read_vectors
from seedwise.trainables.static.align import align, fixed_table
from seedwise.trainables.static.evaluate import lexicon_induction
from seedwise.trainables.static.mapping import PRESETS
from seedwise.trainables.static.options import AlignOptions

FILES = ("en.100d.vec.gz", "fr.300d.vec.gz")
ROWS = 20_000
FEW = 100  # pairs of the small dictionary
QUICK = {"cutoff": 4000, "patience": 8}  # of self-learning: minutes become seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="a folder with vectors/ and lexica/xling-eval/")
    data = parser.parse_args().data
    english, french = (read_vectors(data / "vectors" / name, "data", rows=ROWS) for name in FILES)
    whole, test = (
        read_lexicon(data / "lexica/xling-eval" / f"yacle.{name}.en-fr.tsv", "data")
        for name in ("train.freq.5k", "test.freq.2k")
    )
    few = Lexicon(whole.entries[:FEW], ())
    plain = {len(lexicon.entries): least_squares(english, french, lexicon, test) for lexicon in (whole, few)}
    for number, value in plain.items():
        print(f"{number:5d} pairs  least squares                {value:.3f}", flush=True)
    rows = [(whole, AlignOptions(preset=preset, selection=False)) for preset in PRESETS]
    rows += [(few, AlignOptions(selection=False, self_learning=learning, **QUICK)) for learning in (False, True)]
    for lexicon, options in rows:
        moved = align(english, {"fr": french}, {"fr": lexicon}, options, seed=0)["fr"].table
        share = precision(english, fixed_table(english, options), french, moved, test)
        number = len(lexicon.entries)
        how = options.preset + (", self-learning" if options.self_learning else "")
        print(f"{number:5d} pairs  {how:28s} {share:.3f}  {share / plain[number]:5.2f} times as much", flush=True)


def least_squares(english: Vectors, french: Vectors, lexicon: Lexicon, test: Lexicon) -> float:
    """The baseline: unit vectors, and the least-squares matrix over the dictionary."""
    tables = [side.table / np.linalg.norm(side.table, axis=1, keepdims=True).clip(1e-9) for side in (english, french)]
    of_english, of_french = ({word: row for row, word in enumerate(side.words)} for side in (english, french))
    known = [entry for entry in lexicon.entries if entry.source in of_english and entry.target in of_french]
    here, there = [of_english[entry.source] for entry in known], [of_french[entry.target] for entry in known]
    matrix = np.linalg.lstsq(tables[1][there], tables[0][here], rcond=None)[0]
    return precision(english, tables[0], french, tables[1] @ matrix, test)


def precision(english: Vectors, here: np.ndarray, french: Vectors, there: np.ndarray, test: Lexicon) -> float:
    pairs = [(entry.source, entry.target) for entry in test.entries]
    return lexicon_induction(english.words, here, french.words, there, pairs, ks=(1,))["csls_p1"]


if __name__ == "__main__":
    main()
