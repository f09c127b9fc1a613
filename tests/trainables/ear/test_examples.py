"""Sentences as batches of ids and word numbers, for the world's tokenizer and for real tokenizers."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from seedwise.trainables.ear.examples import Examples, compacted, examples
from seedwise.trainables.inputs.pieces import tokenise, word_numbers
from tests.conftest import ROOT, real

CPU = torch.device("cpu")
WORLD = ROOT / "trainables/world/files/multilingual-encoder"
TOKENIZERS = ["world", "minimulti", "minilm-en"]  # WordPiece, Unigram of XLM-R's kind, BERT's own WordPiece
# Whole words, pieces, signs inside and around, letters that the encoder does not know, other scripts, combined letters.
WORDS = "Ba patrovol, mumele (noda). Extraordinarily well-made films’ 你好世界 e\u0301te\u0301 ½ … 😀x ﬁn"
SENTENCE, OTHER = WORDS.split(), ["se", "fuletulen", "!", "unhappiness"]
LETTERS = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=6)
SENTENCES = st.lists(LETTERS | st.sampled_from(SENTENCE + OTHER), min_size=1, max_size=6)


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request):
    return AutoTokenizer.from_pretrained(WORLD if request.param == "world" else real(f"models/{request.param}")[0])


@pytest.fixture(scope="module")
def world():
    return AutoTokenizer.from_pretrained(WORLD)


def reader(tokenizer, max_length=64):
    """Makes batches of any sentences; it holds no examples of its own."""
    return Examples([], np.array([]), np.array([]), tokenizer, max_length)


def words_by_letters(encoded, row, sentences):
    """Letter by letter: a token belongs to the word of its last letter, and a space to the word after it."""
    owners, before = [], 0
    for sentence in sentences:
        owner = []
        for number, word in enumerate(sentence):
            owner += [before + number] * (len(word) + (number > 0))
        owners.append(owner)
        before += len(sentence)
    words, special = [], before
    for sequence, (start, end) in zip(encoded.sequence_ids(row), encoded["offset_mapping"][row], strict=True):
        if sequence is None:
            words.append(special)
            special += 1
        else:
            words.append(owners[sequence][end - 1 if end > start else start])
    return words


def words_one_by_one(tokenizer, sentences):
    """The tokenizer reads each word alone: ids, and the word of each token, None for special tokens."""
    encoded = tokenizer(*map(list, sentences), is_split_into_words=True, max_length=256, truncation=True)
    first = [0, len(sentences[0])]
    pairs = zip(encoded.sequence_ids(0), encoded.word_ids(0), strict=True)
    return encoded["input_ids"], [None if sequence is None else first[sequence] + word for sequence, word in pairs]


@pytest.mark.parametrize(
    "sentences", [(SENTENCE,), (SENTENCE, OTHER), (OTHER, SENTENCE)], ids=["one", "two", "swapped"]
)
def test_words_are_those_of_the_letters_and_those_of_a_tokenizer_that_reads_words_one_by_one(tokenizer, sentences):
    encoded = tokenise(tokenizer, [tuple(map(" ".join, sentences))], 256)
    words = word_numbers(encoded.sequence_ids(0), encoded["offset_mapping"][0], sentences).tolist()
    assert words == words_by_letters(encoded, 0, sentences)
    count = sum(map(len, sentences))
    real_words = [word if word < count else None for word in words]
    assert (encoded["input_ids"][0], real_words) == words_one_by_one(tokenizer, sentences)
    assert {*words} >= {*range(count)}


@settings(max_examples=60)
@given(sentences=st.lists(SENTENCES, min_size=1, max_size=2).map(tuple))
def test_word_numbers_any_letters(tokenizer, sentences):
    encoded = tokenise(tokenizer, [tuple(map(" ".join, sentences))], 256)
    words = word_numbers(encoded.sequence_ids(0), encoded["offset_mapping"][0], sentences).tolist()
    assert words == words_by_letters(encoded, 0, sentences)
    ids, expected = words_one_by_one(tokenizer, sentences)
    if ids == encoded["input_ids"][0]:  # except where letters of two words were merged
        count = sum(map(len, sentences))
        assert [word if word < count else None for word in words] == expected


def test_words_by_hand(world):
    batch, words, count = reader(world).batch([(["ba", "patrovol,", "noda"], ["se", "."]), (["ba"], ["se"])], CPU)
    tokens = world.convert_ids_to_tokens(batch["input_ids"][0])
    assert tokens == ["[CLS]", "ba", "pat", "##rov", "##ol", ",", "noda", "[SEP]", "se", ".", "[SEP]"]
    assert words[0].tolist() == [5, 0, 1, 1, 1, 1, 2, 6, 3, 4, 7]
    assert words[1].tolist() == [2, 0, 3, 1, 4, *[-1] * 6]
    assert count == 8
    assert batch["attention_mask"].tolist() == [[1] * 11, [1] * 5 + [0] * 6]
    assert batch["input_ids"][1].tolist() == [*world(["ba"], ["se"])["input_ids"][0], *[world.pad_token_id] * 6]


def test_a_token_belongs_to_the_word_of_its_last_letter():
    sentences = (["ab", "cde"], ["f"])  # letters 0 1, a space, 3 4 5
    places = [(0, 0), (0, 2), (2, 3), (0, 6), (3, 3), (1, 3), (0, 0), (0, 1), (1, 1)]
    sequences = [None, 0, 0, 0, 0, 0, None, 1, 1]
    assert word_numbers(sequences, places, sentences).tolist() == [3, 0, 1, 1, 1, 1, 4, 2, 2]


def test_copies_of_a_sentence_number_their_words_alike(tokenizer):
    """Although a synonym may have more pieces and more words."""
    sentences = (["good", "films", "."], OTHER)
    copy = (["extraordinarily well made", "films", "."], OTHER)
    _, (first, second), count = reader(tokenizer).batch([sentences, copy], CPU)
    assert sorted({*first.tolist()} - {-1}) == sorted({*second.tolist()} - {-1}) == list(range(count))
    assert (second == 0).sum() > (first == 0).sum()
    for word in range(1, count):
        assert (second == word).sum() == (first == word).sum()


def test_special_tokens_come_after_the_words_in_their_order(tokenizer):
    batch, words, count = reader(tokenizer).batch([(SENTENCE, OTHER)], CPU)
    special = torch.tensor([token in tokenizer.all_special_ids for token in batch["input_ids"][0]])
    special &= batch["input_ids"][0] != tokenizer.unk_token_id
    first = len(SENTENCE) + len(OTHER)
    assert words[0][special].tolist() == list(range(first, count))
    assert words[0][~special].max() < first


def test_an_empty_sentence_is_a_word_without_tokens(world):
    _, words, count = reader(world).batch([([], ["se"]), (["ba"], [])], CPU)
    assert words.tolist() == [[2, 3, 1, 4], [2, 0, 3, 4]]
    assert count == 5


@given(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=3), st.integers(6, 24))
@settings(max_examples=30)
def test_batches_are_what_the_tokenizer_gives_and_padding_is_no_word(world, sentences, longest):
    batch, words, count = reader(world, longest).batch(sentences, CPU)
    padded, padded_words, same = reader(world, longest).batch(sentences, CPU, to_longest=True)
    texts = [[" ".join(sentence) for sentence in part] for part in zip(*sentences, strict=True)]
    expected = world(*texts, truncation="longest_first", max_length=longest, padding=True, return_tensors="pt")
    assert torch.equal(batch["input_ids"], expected["input_ids"])
    assert torch.equal(batch["attention_mask"], expected["attention_mask"])
    assert torch.equal(words < 0, batch["attention_mask"] == 0)
    assert count == same == words.max() + 1
    width = batch["input_ids"].shape[1]
    assert padded["input_ids"].shape == padded_words.shape == (len(sentences), longest)
    assert torch.equal(padded["input_ids"][:, :width], batch["input_ids"])
    assert torch.equal(padded_words[:, :width], words)
    assert not padded["attention_mask"][:, width:].any()
    assert (padded["input_ids"][:, width:] == world.pad_token_id).all()
    assert (padded_words[:, width:] == -1).all()


def test_of_a_pair_the_longer_sentence_is_cut_first(world):
    long, short = ["ba"] * 20, ["se"] * 5
    for pair in ((long, short), (short, long)):
        batch, words, _ = reader(world, 16).batch([pair], CPU)
        assert batch["input_ids"].shape == (1, 16)  # 13 beside the special tokens
        ids = world.convert_ids_to_tokens(batch["input_ids"][0])
        assert (ids.count("ba"), ids.count("se")) == (8, 5)
        assert words.max() == 27  # words that were cut off keep their numbers
    ids = world.convert_ids_to_tokens(reader(world, 16).batch([(long, ["se"] * 20)], CPU)[0]["input_ids"][0])
    assert {ids.count("ba"), ids.count("se")} == {6, 7}
    batch, words, _ = reader(world, 8).batch([(long,)], CPU)
    assert words.tolist() == [[20, 0, 1, 2, 3, 4, 5, 21]]


def test_examples_are_split_at_white_space_and_counted_in_tokens(world):
    texts = [("  ba\tpatrovol, \u00a0noda ", "se"), ("ba " * 100, "se"), ("", "se")]
    read = examples(texts, [1, 0, 2], world, 16)
    assert read.sentences[0] == (["ba", "patrovol,", "noda"], ["se"])
    assert read.sentences[2] == ([], ["se"])
    assert read.labels.tolist() == [1, 0, 2]
    assert len(read) == 3
    assert read.lengths.tolist() == [10, 16, 4]
    assert read.lengths.dtype == read.labels.dtype == np.int64


def test_kinds_of_tokens_travel_where_the_encoder_tells_sentences_apart(world):
    assert "token_type_ids" not in reader(world).batch([(["ba"], ["se"])], CPU)[0]
    typed = AutoTokenizer.from_pretrained(WORLD)
    typed.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    batch, _, _ = reader(typed).batch([(["ba", "noda"], ["se", "."]), (["ba"], ["se"])], CPU)
    assert batch["token_type_ids"].tolist() == [[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0, 0]]


def test_kinds_of_tokens_of_a_real_bert():
    (path,) = real("models/minilm-en")
    batch, words, _ = reader(AutoTokenizer.from_pretrained(path)).batch([(SENTENCE, OTHER)], CPU)
    second = (words >= len(SENTENCE)) & (words < len(SENTENCE) + len(OTHER))
    second[0, -1] = True  # the [SEP] of the sentence
    assert torch.equal(batch["token_type_ids"], second.long())


def test_words_that_were_cut_off_take_no_room():
    words = torch.tensor([[900, 0, 0, 7, 901], [5, 5, 6, 6, -1], [900, 0, 7, 8, 901], [5, 4, -1, -1, -1]])
    actual, count = compacted(words)
    # The first pair has words 0, 7, 8, 900 and 901 in either stream, the second 4, 5 and 6.
    assert actual.tolist() == [[3, 0, 0, 1, 4], [1, 1, 2, 2, -1], [3, 0, 1, 2, 4], [1, 0, -1, -1, -1]]
    assert count == 5
