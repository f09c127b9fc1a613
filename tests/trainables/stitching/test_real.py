"""Stitching French into a small English encoder, with published files."""

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

from seedwise.search.spec.load import from_dict
from seedwise.trainables.inputs.vectors import read_vectors
from seedwise.trainables.stitching.options import StitchingOptions
from seedwise.trainables.stitching.pair import Tables
from seedwise.trainables.stitching.trainable import Stitching
from tests.conftest import real
from tests.prepared import prepare


@pytest.fixture(scope="module")
def french():
    lexica = "data/lexica/xling-eval/yacle"
    task, model, vectors, lexicon, held_out = real(
        "data/sib200",
        "models/minilm-en",
        "data/vectors/fr.300d.vec.gz",
        f"{lexica}.train.freq.5k.en-fr.tsv",
        f"{lexica}.test.freq.2k.en-fr.tsv",
    )
    specification = {
        "name": "french",
        "method": "stitching",
        "budget": {"runs": 60},
        "model": str(model),
        "task": {"name": "sib200", "data": str(task), "source": "eng_Latn", "targets": ["fra_Latn"]},
        "inputs": {
            "vectors": {"fra_Latn": str(vectors)},
            "lexicons": {"fra_Latn": str(lexicon)},
        },
    }
    return prepare(Stitching, from_dict(specification).as_dict()), model, vectors, held_out


def test_the_published_sizes_are_read(french):
    inputs, *_ = french
    assert (len(inputs.train), len(inputs.dev), len(inputs.targets["fra_Latn"].dev)) == (701, 99, 99)
    assert len(inputs.labels) == 7
    assert inputs.targets["fra_Latn"].unknown_share < 0.08  # most of it is rare names
    assert 1000 < len(inputs.targets["fra_Latn"].lexicon) <= 5000


def test_stitched_words_lie_near_translations_that_were_no_anchors(french):
    """Pairs of the lexicon's test part, disjoint from the anchors: their cosine beats that of shuffled pairs."""
    inputs, model, vectors_file, test_lexicon = french
    tokenizer = AutoTokenizer.from_pretrained(model)
    vectors = read_vectors(vectors_file, "vectors", rows=200_000)
    rows = {word: row for row, word in enumerate(vectors.words)}
    pairs = [line.split() for line in test_lexicon.read_text(encoding="utf-8").splitlines()]
    vocabulary = tokenizer.get_vocab()
    known = [(vocabulary[en], rows[fr]) for en, fr in pairs if en in vocabulary and fr in rows]
    assert len(known) > 300
    target = inputs.targets["fra_Latn"]
    original = torch.from_numpy(np.array(inputs.encoder.weights["embeddings.word_embeddings.weight"]))
    options = StitchingOptions(k=10, weighting="softmax", tau=0.1)
    tables = Tables(original, torch.from_numpy(inputs.specials), target, options, 0, 10)
    assert torch.isfinite(tables.source).all()
    truth = torch.nn.functional.normalize(tables.source[[piece for piece, _ in known]], dim=1)
    stitched = torch.nn.functional.normalize(tables.target(vectors.table[[row for _, row in known]])[0], dim=1)
    cosine = stitched @ truth.T
    right, wrong = cosine.diagonal(), cosine[~torch.eye(len(known), dtype=bool)]
    assert right.mean() > wrong.mean() + 2 * wrong.std()
