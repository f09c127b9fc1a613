"""The trained parts (vectors, encoders, pretraining), tested by what they can do and not by their bytes."""

import gzip
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

from seedwise.trainables.request import Task
from seedwise.trainables.tasks.sources import Classification
from seedwise.trainables.world import SOURCE, TARGETS, path
from tools.world import encoders
from tools.world.concepts import CONCEPTS, GENERAL
from tools.world.language import make_languages
from tools.world.vectors import train_vectors

ENCODERS = {"source-encoder": (SOURCE,), "multilingual-encoder": (SOURCE, *TARGETS)}


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    torch.set_num_threads(1)


def corpus(language: str) -> list[str]:
    return gzip.decompress(path(f"text/{language}.txt.gz").read_bytes()).decode().splitlines()


def vectors(language: str) -> dict[str, np.ndarray]:
    lines = gzip.decompress(path(f"vectors/{language}.vec.gz").read_bytes()).decode().splitlines()
    count, dimensions = map(int, lines[0].split())
    table = {word: np.array(numbers, dtype=float) for word, *numbers in (line.split(" ") for line in lines[1:])}
    assert len(table) == count
    assert {len(vector) for vector in table.values()} == {dimensions}
    return {word: vector / max(np.linalg.norm(vector), 1e-9) for word, vector in table.items()}


def sentences(language: str, split: str) -> tuple[list[str], list[int]]:
    task = {"name": "sib200", "data": "world:topics", "source": SOURCE, "targets": list(TARGETS)}
    return Classification(Task(**task)).split(language, split)


@pytest.mark.parametrize(("language", "margin"), [("qel", 0.3), ("qan", 0.25), ("qor", 0.15)])
def test_words_of_one_scene_lie_closer_than_words_of_two_topics(language, margin):
    table, forms = vectors(language), make_languages(0)[language].forms
    nouns = [c for c in CONCEPTS if c.kind == "noun" and c.scene != GENERAL and forms[c.number][0] in table]
    own = np.array([table[forms[c.number][0]] for c in nouns])
    cosines = own @ own.T
    scenes, topics = (np.array([getattr(c, name) for c in nouns]) for name in ("scene", "topic"))
    together = (scenes[:, None] == scenes) & ~np.eye(len(nouns), dtype=bool)
    apart = topics[:, None] != topics
    assert cosines[together].mean() - cosines[apart].mean() > margin


def test_synonyms_lie_closer_than_chance():
    table, forms = vectors(SOURCE), make_languages(0)[SOURCE].forms
    pairs = [words[:2] for words in forms if len(words) > 1 and words[0] in table and words[1] in table]
    first, second = (np.array([table[pair[side]] for pair in pairs]) for side in (0, 1))
    cosines = first @ second.T
    assert np.diag(cosines).mean() - cosines.mean() > 0.3


@pytest.mark.parametrize(("language", "least"), [("qel", 0.6), ("qan", 0.6), ("qor", 0.45)])
def test_mean_vectors_tell_the_topics_apart_within_a_language(language, least):
    table = vectors(language)
    train, test = ("train", "dev") if language == SOURCE else ("test", "dev")

    def features(texts: list[str]) -> np.ndarray:
        return np.array([np.mean([table[w] for w in text.split() if w in table], axis=0) for text in texts])

    texts, classes = sentences(language, train)
    model = LogisticRegression(C=100, max_iter=2000).fit(features(texts), classes)
    texts, classes = sentences(language, test)
    assert f1_score(classes, model.predict(features(texts)), average="macro") > least


def test_retrained_vectors_have_the_shipped_neighbours():
    words, fresh = train_vectors(corpus("qor"))
    table = vectors("qor")
    assert words == list(table)
    fresh = fresh / np.linalg.norm(fresh, axis=1, keepdims=True)
    shipped = np.array(list(table.values()))
    np.testing.assert_allclose(fresh[:200] @ fresh[:200].T, shipped[:200] @ shipped[:200].T, atol=0.02)


@pytest.mark.parametrize(("name", "layers"), [("source-encoder", 2), ("multilingual-encoder", 4)])
def test_encoders_load_ready_for_fine_tuning(name, layers):
    model, tokenizer = AutoModel.from_pretrained(path(name)), AutoTokenizer.from_pretrained(path(name))
    assert model.dtype == torch.float32  # though the file holds half precision
    assert (model.config.num_hidden_layers, model.config.hidden_dropout_prob) == (layers, 0.1)
    assert tokenizer.convert_ids_to_tokens(range(5)) == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    text = sentences(SOURCE, "dev")[0][0]
    pieces = tokenizer.tokenize(text)
    assert "".join(pieces).replace("##", "") == text.replace(" ", "")


@pytest.mark.parametrize(("name", "languages"), ENCODERS.items())
def test_masked_words_are_guessed_better_than_by_frequency(name, languages):
    model = AutoModelForMaskedLM.from_pretrained(path(name)).eval()
    tokenizer = AutoTokenizer.from_pretrained(path(name))
    for language in languages:
        ids = encoders.pad(tokenizer(sentences(language, "test")[0])["input_ids"], tokenizer.pad_token_id)
        masked, labels = encoders.mask(ids, tokenizer, torch.Generator().manual_seed(0))
        labels[:, 0] = encoders.IGNORED  # [CLS] is not a word
        with torch.inference_mode():
            guesses = model(masked, attention_mask=(ids != tokenizer.pad_token_id).long()).logits.argmax(-1)
        hidden = labels != encoders.IGNORED
        frequent = Counter(labels[hidden].tolist()).most_common(1)[0][1] / int(hidden.sum())
        accuracy = (guesses == labels)[hidden].float().mean().item()
        assert accuracy > 1.5 * frequent, (language, accuracy, frequent)


def test_frequent_words_are_one_piece_and_many_rare_ones_are_not():
    tokenizer = AutoTokenizer.from_pretrained(path("source-encoder"))
    counts = Counter(word for sentence in corpus(SOURCE) for word in sentence.split())
    ranked = [word for word, _ in counts.most_common()]
    whole = [len(tokenizer.tokenize(word)) == 1 for word in ranked]
    assert np.mean(whole[:200]) > 0.95
    assert np.mean(whole[-500:]) < 0.05
    assert 0.3 < np.mean(whole) < 0.8


def test_a_few_steps_of_pretraining_lower_the_loss():
    text = corpus(SOURCE)[:2000]
    shape = replace(encoders.SOURCE_SHAPE, steps=40, batch=32)
    tokenizer = encoders.train_tokenizer(text, shape.pieces)
    model = encoders.untrained(tokenizer, shape, seed=0)
    encoders.warm_start(model, tokenizer, text)
    losses: list[float] = []
    encoders.pretrain(model, tokenizer, text, shape, 0, lambda line: losses.append(float(line.split()[-1])))
    assert losses[-1] < losses[0] - 1
