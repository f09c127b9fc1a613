"""Scores word vectors by nearest-neighbour translation and by human judgements of similarity."""

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.stats import rankdata
from torch import Tensor

from seedwise.trainables.static.retrieval import crowding, nearest, unit


def lexicon_induction(
    source_words: Sequence[str],
    source_table: np.ndarray,
    target_words: Sequence[str],
    target_table: np.ndarray,
    pairs: Iterable[tuple[str, str]],
    *,
    ks: Sequence[int] = (1, 5, 10),
    neighbours: int = 10,
    device: str = "cpu",
) -> dict[str, float]:
    """The share of source words with a translation among their k best target words: `nn_p1`, `csls_p1`, `nn_p5`, ...

    Any of a word's translations counts. As in MUSE, source words without a pair in both vocabularies are left out;
    `nn_p1_all`, ... count these words as wrong. `coverage` is the share of words that are not left out, `words` the
    number of distinct source words in the lexicon. A share of nothing is nan. Words must match in case.
    CSLS (k is `neighbours`) compares every source word with every target word: cut large vocabularies (MUSE has 200 000
    words), or use a GPU as `device`.
    """
    source_rows, target_rows = _rows(source_words), _rows(target_words)
    gold: dict[str, set[int]] = {}
    for source, target in pairs:
        gold.setdefault(source, set())
        if source in source_rows and target in target_rows:
            gold[source].add(target_rows[target])
    covered = [source for source, right in gold.items() if right]
    metrics = {"words": float(len(gold)), "coverage": _share(len(covered), len(gold))}
    sources, targets = unit(source_table, device), unit(target_table, device)
    queries = sources[[source_rows[source] for source in covered]]
    for name, crowded in (("nn", 0.0), ("csls", crowding(targets, sources, neighbours))):
        ranks = _ranks(nearest(queries, targets, crowded, max(ks)), [gold[source] for source in covered])
        for k in ks:
            right = int((ranks <= k).sum())
            metrics[f"{name}_p{k}"] = _share(right, len(covered))
            metrics[f"{name}_p{k}_all"] = _share(right, len(gold))
    return metrics


def word_similarity(
    first_words: Sequence[str],
    first_table: np.ndarray,
    second_words: Sequence[str],
    second_table: np.ndarray,
    judged: Iterable[tuple[str, str, float]],
) -> dict[str, float]:
    """`spearman`: the rank correlation of cosines with human scores, over the pairs (word, word, score) with vectors.

    The first word of a pair is looked up in the first vocabulary, the second in the second: for a test in one language
    pass its vocabulary twice. A phrase without a vector is the mean of its words' vectors. Words are tried unchanged,
    lower-cased, capitalised, and with every part capitalised. `coverage` is the share of pairs with vectors on both
    sides, `pairs` the number of all pairs.
    """
    sides = (_rows(first_words), first_table), (_rows(second_words), second_table)
    cosines, scores, count = [], [], 0
    for first, second, score in judged:
        count += 1
        vectors = [_vector(word, *side) for word, side in zip((first, second), sides, strict=True)]
        lengths = [0.0 if vector is None else np.linalg.norm(vector) for vector in vectors]
        if all(lengths):
            cosines.append(vectors[0] @ vectors[1] / (lengths[0] * lengths[1]))
            scores.append(score)
    return {"spearman": spearman(cosines, scores), "coverage": _share(len(scores), count), "pairs": float(count)}


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's rank correlation; nan, without scipy's warnings, if a side is constant or empty."""
    first, second = (rankdata(values) - (len(values) + 1) / 2 for values in (first, second))
    spread = np.sqrt((first @ first) * (second @ second))
    return float(first @ second / spread) if spread else np.nan


def _rows(words: Sequence[str]) -> dict[str, int]:
    return {word: row for row, word in enumerate(words)}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else np.nan


def _ranks(best: Tensor, gold: list[set[int]]) -> np.ndarray:
    """For each query, the rank, from 1, of the first right answer in its row of `best`; infinite if there is none."""
    ranks = [
        next((rank for rank, row in enumerate(rows, start=1) if row in right), np.inf)
        for rows, right in zip(best.tolist(), gold, strict=True)
    ]
    return np.array(ranks)


def _vector(phrase: str, rows: dict[str, int], table: np.ndarray) -> np.ndarray | None:
    """The vector of a word or phrase in float64; None if one of its words has no vector."""
    for words in ([phrase], phrase.split()):
        matches = [_row(word, rows) for word in words]
        if matches and None not in matches:
            return table[matches].astype(np.float64).mean(axis=0)
    return None


def _row(word: str, rows: dict[str, int]) -> int | None:
    forms = (word, word.lower(), word.capitalize(), word.title())
    return next((rows[form] for form in forms if form in rows), None)
