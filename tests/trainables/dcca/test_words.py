import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

from seedwise.trainables.dcca.blocks import held_out
from seedwise.trainables.dcca.words import HELD_OUT, Encoding, join, pieces_of
from seedwise.trainables.inputs.vectors import Vectors
from seedwise.trainables.world import path
from tests.trainables.dcca.small import small_model, small_words

CPU = torch.device("cpu")


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
@pytest.mark.parametrize("layer", [1, 2, "last"])
@pytest.mark.parametrize("pooling", ["pieces", "all", "cls"])
def test_a_word_is_pooled_as_if_it_were_alone(kind, layer, pooling):
    model = small_model(kind).eval()
    pad = model.config.pad_token_id
    static = small_words(10, pad=pad)
    encoding = Encoding(pad, layer, pooling, "masked")
    vectors = encoding(model, encoding.batch(static.pieces, np.arange(10), CPU))
    for row in range(10):
        ids = torch.tensor(static.pieces.ids[row, : static.pieces.lengths[row]].astype(np.int64))[None]
        states = model(ids, output_hidden_states=True).hidden_states[3 if layer == "last" else layer][0]
        expected = {"pieces": states[1:-1].mean(0), "all": states.mean(0), "cls": states[0]}[pooling]
        torch.testing.assert_close(vectors[row], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("pooling", ["pieces", "all"])
def test_attended_padding_is_read_and_pooled_as_the_released_code_does(pooling):
    model = small_model("xlm-roberta").eval()
    static = small_words(10, pad=1)
    encoding = Encoding(1, "last", pooling, "attended")
    ids, there = encoding.batch(static.pieces, np.arange(10), CPU)
    states = model.roberta(ids, attention_mask=torch.ones_like(ids)).last_hidden_state
    vectors = encoding(model, (ids, there))
    for row, length in enumerate(static.pieces.lengths):
        kept = [position for position in range(ids.shape[1]) if pooling == "all" or position not in (0, length - 1)]
        torch.testing.assert_close(vectors[row], states[row, kept].mean(0), rtol=1e-4, atol=1e-5)
    apart = Encoding(1, "last", pooling, "masked")(model, (ids, there))
    short = int(static.pieces.lengths.argmin())
    assert (vectors[short] - apart[short]).norm() > 0.05 * apart[short].norm()  # D3


def test_the_vectors_of_all_languages_become_one_set_without_unknown_words(monkeypatch):
    monkeypatch.setattr("seedwise.trainables.dcca.words.LEAST_MEASURED", 0)
    tokenizer = AutoTokenizer.from_pretrained(path("multilingual-encoder"))
    draw = np.random.default_rng(0)
    words = {"qel": ["</s>", "dai", "漢字", "se", "ba"], "qan": ["dei", "lam", "ba", "zero"]}
    tables = {language: draw.normal(size=(len(own), 6)).astype(np.float32) for language, own in words.items()}
    tables["qan"][3] = 0  # a zero vector
    sets = {language: Vectors(own, tables[language], ()) for language, own in words.items()}
    static, notes = join(sets, tokenizer, "inputs.static.x")
    kept = [("qel", 1), ("qel", 3), ("qel", 4), ("qan", 0), ("qan", 1), ("qan", 2)]
    for row, (language, number) in enumerate(kept):
        own = tables[language][number]
        np.testing.assert_allclose(static.table[row], own / np.linalg.norm(own), rtol=1e-6)
        ids = tokenizer(words[language][number])["input_ids"]
        assert static.pieces.ids[row, : static.pieces.lengths[row]].tolist() == ids
    assert len(static.table) == len(kept)
    assert notes == [
        "inputs.static.x.qel: 1 of 4 words have pieces that the encoder lacks, or a zero vector",
        "inputs.static.x.qan: 1 of 4 words have pieces that the encoder lacks, or a zero vector",
    ]


def test_no_word_is_both_trained_on_and_measured_in_any_language():
    tokenizer = AutoTokenizer.from_pretrained(path("multilingual-encoder"))
    vocabulary = sorted(tokenizer.get_vocab())  # the order of a set varies by process
    words = [token for token in vocabulary if token.isalpha() and token.islower()][:400]
    table = np.random.default_rng(0).normal(size=(len(words), 8)).astype(np.float32)
    sets = {"qel": Vectors(words, table, ()), "qan": Vectors(words[::-1], table, ())}
    static, _ = join(sets, tokenizer, "inputs.static.x")
    spelled = [*words, *words[::-1]]
    trained = {spelled[row] for row in static.train}
    measured = {spelled[row] for rows in static.measured.values() for row in rows}
    assert measured == {word for word in words if held_out(word, HELD_OUT)}
    assert not trained & measured
    assert trained | measured == set(words)
    assert len(measured) == pytest.approx(len(words) / HELD_OUT, abs=12)


def test_long_words_are_cut_to_twenty_pieces():
    tokenizer = AutoTokenizer.from_pretrained(path("multilingual-encoder"))
    assert pieces_of(["ba" * 60, "dai"], tokenizer).lengths.tolist()[0] <= 22
