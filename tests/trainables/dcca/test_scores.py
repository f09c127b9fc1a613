import math

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from seedwise.trainables.dcca import scores
from seedwise.trainables.dcca.masking import IGNORED
from seedwise.trainables.dcca.scores import LexiconTest
from seedwise.trainables.dcca.words import Encoding, StaticVectors
from seedwise.trainables.inputs.text import encode
from tests.trainables.dcca.small import small_model, small_words

CPU = torch.device("cpu")
ENCODING = Encoding(0, "last", "pieces", "masked")


def random_sentences(count, seed):
    draw = np.random.default_rng(seed)
    return encode([[2, *draw.integers(5, 40, draw.integers(2, 9)), 3] for _ in range(count)], [0] * count, pad=0)


def test_the_loss_of_hidden_words_is_a_mean_over_all_of_them_whatever_the_batches(monkeypatch):
    model = small_model().eval()
    draw = np.random.default_rng(0)
    ids = draw.integers(5, 40, (7, 9)).astype(np.int32)
    labels = np.where(draw.random(ids.shape) < 0.3, ids, IGNORED)
    logits = model(torch.from_numpy(ids.astype(np.int64))).logits.reshape(-1, 40)
    expected = cross_entropy(logits, torch.from_numpy(labels.astype(np.int64)).reshape(-1), ignore_index=IGNORED).item()
    for size in (64, 3):
        monkeypatch.setattr(scores, "BLOCK_BATCH", size)
        metrics = scores.masked_words(model, {"a": (ids, labels)}, 0, CPU)
        assert metrics["dev/mlm_loss/a"] == pytest.approx(expected, rel=1e-5)
        assert metrics["dev/mlm_probability/a"] == pytest.approx(math.exp(-expected), rel=1e-5)


def test_vectors_come_in_the_order_in_which_they_were_asked_for():
    model, static = small_model().eval(), small_words(150)
    rows = np.random.default_rng(1).permutation(150)[:90]
    vectors = scores.vectors(model, static.pieces, rows, ENCODING, CPU)
    for row in (0, 17, 89):
        alone = ENCODING(model, ENCODING.batch(static.pieces, rows[row : row + 1], CPU))
        torch.testing.assert_close(vectors[row], alone[0], rtol=1e-4, atol=1e-5)


def test_a_static_view_of_the_encoder_itself_correlates_with_it_and_a_random_one_does_not():
    model, static = small_model().eval(), small_words(600, width=16)
    rows = {"fitted": {"a": np.arange(200), "b": np.arange(200, 400)}}
    rows["measured"] = {"a": np.arange(400, 500), "b": np.arange(500, 600)}
    states = scores.vectors(model, static.pieces, np.arange(600), ENCODING, CPU).numpy()
    turned = states @ np.linalg.qr(np.random.default_rng(0).normal(size=(16, 16)))[0].astype(np.float32)
    same = scores.correlation(model, StaticVectors(static.pieces, turned, static.train, **rows), ENCODING, CPU)
    other = scores.correlation(model, StaticVectors(static.pieces, static.table, static.train, **rows), ENCODING, CPU)
    assert set(same) == set(other) == {"dev/correlation/a", "dev/correlation/b"}
    assert min(same.values()) > 0.99
    assert max(map(abs, other.values())) < 0.1  # the mean of ten correlations of 100 words: sd about .03


def test_retrieval_counts_translations_by_brute_force_in_both_directions():
    model = small_model().eval()
    target, source = random_sentences(30, 0), random_sentences(30, 1)
    means = []
    for side in (target, source):
        rows = [side.ids[row, :length].astype(np.int64) for row, length in enumerate(side.lengths)]
        states = [model(torch.from_numpy(ids)[None], output_hidden_states=True).hidden_states[2][0] for ids in rows]
        means.append([state.mean(0).detach().numpy() for state in states])

    def cosine(a, b):
        return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))

    forth = [max(range(30), key=lambda j, mean=mean: cosine(mean, means[1][j])) for mean in means[0]]
    back = [max(range(30), key=lambda j, mean=mean: cosine(mean, means[0][j])) for mean in means[1]]
    metrics = scores.retrieval(model, {"a": (target, source)}, 2, "test", CPU)
    shares = [sum(best == row for row, best in enumerate(way)) / 30 for way in (forth, back)]
    assert metrics["test/retrieval_to_source/a"] == pytest.approx(shares[0])
    assert metrics["test/retrieval_from_source/a"] == pytest.approx(shares[1])
    assert metrics["test/retrieval/a"] == pytest.approx(sum(shares) / 2)
    same = scores.retrieval(model, {"a": (target, target)}, 2, "dev", CPU)
    assert same["dev/retrieval/a"] == 1.0


def test_words_that_are_spelled_alike_are_found_by_the_encoders_own_vectors():
    model, pieces = small_model().eval(), small_words(40).pieces
    words = [f"w{number}" for number in range(40)]
    capitals = [word.upper() for word in words]
    longer = np.flatnonzero(pieces.lengths > 4)[:10]  # no duplicates
    probe = LexiconTest(words, pieces, capitals, pieces, [(words[row], capitals[row]) for row in longer])
    metrics = scores.lexicons(model, {"a": probe}, ENCODING, CPU)
    assert metrics["dev/lexicon_nn_p1/a"] == 1.0
    assert (
        metrics["dev/lexicon/a"] == metrics["dev/lexicon_csls_p1/a"] >= 0.8
    )  # CSLS may prefer a word with fewer neighbours
    pairs = [(words[row], words[row + 1].upper()) for row in range(10)]
    shifted = LexiconTest(words, pieces, probe.target, pieces, pairs)
    assert scores.lexicons(model, {"a": shifted}, ENCODING, CPU)["dev/lexicon/a"] <= 0.2
