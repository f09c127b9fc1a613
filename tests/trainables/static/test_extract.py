"""Vectors out of a frozen encoder: each part against its formula, and the whole on the embedded world."""

import gzip
import io
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch
from rich.console import Console
from scipy.stats import chisquare
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

from seedwise.errors import RequestError
from seedwise.trainables.inputs.vectors import read_vectors
from seedwise.trainables.static.contexts import FrozenEncoder
from seedwise.trainables.static.extract import extract, prepare
from seedwise.trainables.static.options import ExtractOptions
from seedwise.trainables.static.training import Negatives, kept_share, loss_of
from seedwise.trainables.training.encoder import load_encoder
from seedwise.trainables.world import path as world
from tools.world.concepts import CONCEPTS, GENERAL
from tools.world.language import make_languages

WORLD = "world:multilingual-encoder"
OPTIONS = ExtractOptions(layer=3, least_count=3, least_words=3, subsampling=1e-3, epochs=2, batch_size=32, buffer=100)


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    monkeypatch.setenv("SEEDWISE_CACHE", str(tmp_path / "cache"))
    torch.set_num_threads(1)


def corpus(language):
    return gzip.decompress(world(f"text/{language}.txt.gz").read_bytes()).decode().splitlines()


@pytest.fixture
def text(tmp_path):
    """Three hundred sentences."""
    file = tmp_path / "qor.txt"
    file.write_text("\n".join(corpus("qor")[:300]), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def sentencepiece(tmp_path_factory):
    """An encoder of XLM-R's kind: pieces of SentencePiece, padding has the id 1, weights are random."""
    folder, specials = tmp_path_factory.mktemp("xlmr"), ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=400, special_tokens=specials, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(corpus("qor")[:500], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    roles = dict(zip(["cls_token", "pad_token", "sep_token", "unk_token", "mask_token"], specials, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **roles).save_pretrained(folder)
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 32}
    config = XLMRobertaConfig(vocab_size=400, max_position_embeddings=24, initializer_range=0.3, **shape)
    XLMRobertaModel(config).save_pretrained(folder)
    return str(folder)


def frozen(name, **changes):
    encoder, tokenizer = load_encoder(name)
    return FrozenEncoder(name, encoder, tokenizer, replace(OPTIONS, **changes), torch.device("cpu"))


SENTENCES = [
    ["zak"],
    ["zak", ",", "kang"],
    ["zak", "dokakhuqa", "hutuquq", "gu", "qakh", "dakhokhyuqa", "kahuok", "."],
    ["zak", "zu", "zak", "dokakhuqa", "hutuquq", "gu", "qakh", "dakhokhyuqa", ","]
    * 4,  # longer than the encoder's limit
]


def plain_context(tokenizer, model, words, word, kind, layer, longest):
    """One sentence alone, position by position. The owners of pieces are the tokenizer's own word."""
    pieces = tokenizer([words], is_split_into_words=True, truncation=True, max_length=longest, return_tensors="pt")
    with torch.no_grad():
        states = model(**pieces, output_hidden_states=True).hidden_states[layer][0]
    owners = pieces.word_ids(0)
    left_out = () if kind == "with" else (None, word)
    counted = [state for state, owner in zip(states, owners, strict=True) if owner not in left_out]
    return sum(counted) / len(counted) if counted else None


@pytest.mark.parametrize("kind", ["without", "with"])
@pytest.mark.parametrize(("family", "layer", "longest"), [("bert", 1, 64), ("bert", 3, 20), ("xlm-roberta", 2, 22)])
def test_a_context_vector_is_the_mean_over_one_sentence_read_alone(sentencepiece, family, layer, longest, kind):
    name = WORLD if family == "bert" else sentencepiece
    options = {"layer": layer, "context": kind, "max_length": longest if family == "bert" else 200}
    places = [(number, word) for number, words in enumerate(SENTENCES) for word in range(len(words))][:16]
    places += [(3, 12), (3, 35)]
    folder = world("multilingual-encoder") if family == "bert" else name
    read = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    expected = [plain_context(*read, SENTENCES[sentence], word, kind, layer, longest) for sentence, word in places]
    vectors, usable = frozen(name, **options).contexts(SENTENCES, *np.array(places).T)
    assert usable.tolist() == [vector is not None for vector in expected]
    assert usable[0] == (kind == "with")  # the only word of a sentence has no context without it
    torch.testing.assert_close(
        vectors, torch.stack([vector for vector in expected if vector is not None]), atol=2e-5, rtol=1e-4
    )


def test_batches_and_half_precision_change_little():
    texts = sorted((line.split() for line in corpus("qan")[:70]), key=len)
    sentence, word = np.arange(70), np.array([number % len(words) for number, words in enumerate(texts)])
    encoder = frozen(WORLD)
    together, _ = encoder.contexts(texts, sentence, word)
    alone = [encoder.contexts([texts[row]], np.zeros(1, int), word[[row]])[0] for row in (0, 31, 32, 69)]
    torch.testing.assert_close(together[[0, 31, 32, 69]], torch.cat(alone), atol=1e-5, rtol=1e-4)
    half, _ = frozen(WORLD, precision="bf16").contexts(texts, sentence, word)
    assert half.dtype == torch.float32
    assert 0 < (half - together).norm() / together.norm() < 0.02


def test_a_layer_that_the_encoder_lacks_is_refused():
    with pytest.raises(RequestError, match="layer: 6, but world:multilingual-encoder has 4"):
        frozen(WORLD, layer=6)


@pytest.mark.parametrize("values", [{"layer": 0}, {"context": "both"}, {"lr": 0.0}, {"subsampling": -1.0}])
def test_impossible_options_are_refused(values):
    with pytest.raises(ValueError, match=next(iter(values))):
        ExtractOptions(**values)


def test_the_loss_and_its_gradient_are_the_formulas():
    draw = np.random.default_rng(0)
    contexts, targets = draw.normal(size=(2, 5, 4))
    negatives = draw.normal(size=(5, 3, 4))
    targets[0], negatives[1, 2], negatives[2, 0] = 99 * contexts[0], 99 * contexts[1], -99 * contexts[2]  # beyond 20
    loss, slope_targets, slope_negatives = 0.0, np.zeros((5, 4)), np.zeros((5, 3, 4))
    for row, context in enumerate(contexts):
        right = ([targets[row]], slope_targets[row : row + 1], -1)
        for vectors, slopes, sign in (right, (negatives[row], slope_negatives[row], 1)):
            for number, vector in enumerate(vectors):
                score = float(np.clip(context @ vector, -20, 20))
                loss += np.log1p(np.exp(sign * score)) / 5
                if abs(context @ vector) < 20:
                    slopes[number] = sign * context / (1 + np.exp(-sign * score)) / 5
    parts = [torch.tensor(part, requires_grad=True) for part in (contexts, targets, negatives)]
    value = loss_of(*parts)
    value.backward()
    assert value.item() == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(parts[1].grad, slope_targets, atol=1e-14)
    np.testing.assert_allclose(parts[2].grad, slope_negatives, atol=1e-14)
    assert not slope_targets[0].any()
    assert slope_targets[1].any()


def test_negatives_are_drawn_by_the_square_root_of_the_count():
    counts = np.array([10_000, 400, 100, 25, 1, 1])
    drawn = Negatives(counts).draw((20_000, 5), np.random.default_rng(0))
    frequencies = np.bincount(drawn.ravel(), minlength=6)
    shares = np.array([100, 20, 10, 5, 1, 1]) / 137
    assert chisquare(frequencies, shares * drawn.size).pvalue > 0.001
    assert chisquare(frequencies, counts / counts.sum() * drawn.size).pvalue < 1e-9


def test_the_share_of_occurrences_that_become_targets_is_the_formula():
    counts = np.array([50_000, 25_000, 24_990, 10])  # frequencies .5, .25, .2499, .0001
    shares = kept_share(counts, 1e-3)
    assert shares[0] == pytest.approx(0.002**0.5 + 0.002)
    assert shares[1] == pytest.approx(0.004**0.5 + 0.004)
    assert shares[3] == 1
    assert kept_share(counts, 0).tolist() == [1, 1, 1, 1]


def test_targets_are_words_of_the_vocabulary_kept_by_their_share(text):
    training, _, _ = prepare(WORLD, text, "qor", OPTIONS, seed=0)
    lines = text.read_text().splitlines()
    frequencies = np.zeros(len(training.vocabulary.words))
    for seed in range(20):
        texts, sentence, word, targets = training.choose(lines, np.random.default_rng(seed))
        assert [texts[s][w] for s, w in zip(sentence, word, strict=True)] == [
            training.vocabulary.words[row] for row in targets
        ]
        np.add.at(frequencies, targets, 1)
    counts = training.vocabulary.counts
    expected = 20 * counts * np.minimum(1, np.sqrt(1e-3 * counts.sum() / counts) + 1e-3 * counts.sum() / counts)
    spread = np.sqrt(expected * (1 - expected / (20 * counts)))
    assert np.abs((frequencies - expected)[spread > 0] / spread[spread > 0]).max() < 5
    assert (frequencies == expected)[spread == 0].all()


def test_an_interrupted_extraction_goes_on_and_writes_the_same_bytes(tmp_path, text):
    """During the first epoch, at its end, and during the last epoch."""
    undisturbed = extract(WORLD, text, "qor", tmp_path / "whole.vec", OPTIONS, seed=5)
    for updates, epoch, sentence in ((3, 1, 97), (10, 1, 301), (13, 2, 97)):
        to, said = tmp_path / f"{updates}.vec", io.StringIO()
        training, fingerprint, _ = prepare(WORLD, text, "qor", OPTIONS, seed=5)
        for _ in islice(training.updates(), updates):
            pass
        training.save(tmp_path / f"{updates}.vec.checkpoint", fingerprint)
        assert extract(WORLD, text, "qor", to, OPTIONS, 5, Console(file=said, width=200)) == undisturbed
        assert f"continues from epoch {epoch}, sentence {sentence}." in said.getvalue()
        assert to.read_bytes() == (tmp_path / "whole.vec").read_bytes()


def test_checkpoints_change_nothing_and_are_gone_at_the_end(tmp_path, text):
    options = replace(OPTIONS, epochs=1)
    often = extract(WORLD, text, "qor", tmp_path / "often.vec", replace(options, checkpoint_seconds=0.0), seed=5)
    assert {file.name for file in tmp_path.iterdir()} == {"qor.txt", "often.vec"}
    assert extract(WORLD, text, "qor", tmp_path / "never.vec", options, seed=5) == often
    assert (tmp_path / "often.vec").read_bytes() == (tmp_path / "never.vec").read_bytes()


@pytest.mark.parametrize("change", ["options", "seed", "text", "damage"])
def test_a_checkpoint_of_something_else_is_not_used_and_this_is_said(tmp_path, text, change):
    to, said = tmp_path / "some.vec", io.StringIO()
    options, seed, checkpoint = replace(OPTIONS, epochs=1), 5, tmp_path / "some.vec.checkpoint"
    training, fingerprint, _ = prepare(WORLD, text, "qor", options, seed)
    next(training.updates())
    training.save(checkpoint, fingerprint)
    if change == "options":
        options = replace(options, lr=2e-3)
    elif change == "seed":
        seed = 6
    elif change == "text":
        text.write_text(text.read_text() + "\n" + corpus("qor")[300])
    else:
        checkpoint.write_bytes(checkpoint.read_bytes()[:-9])
    extracted = extract(WORLD, text, "qor", to, options, seed, Console(file=said, width=200))
    assert "some.vec.checkpoint: not used, as it is damaged or of other options or data." in said.getvalue()
    assert extracted == extract(WORLD, text, "qor", tmp_path / "new.vec", options, seed)
    assert to.read_bytes() == (tmp_path / "new.vec").read_bytes()


def test_what_is_left_out_is_counted_and_words_that_were_no_target_get_no_vector(tmp_path, text):
    text.write_text(text.read_text() + "\ntoo short\n")
    options = replace(OPTIONS, subsampling=1e-6, epochs=1)
    training, _, _ = prepare(WORLD, text, "qor", options, seed=0)
    extracted = extract(WORLD, text, "qor", tmp_path / "few.vec.gz", options, seed=0)
    vectors = read_vectors(tmp_path / "few.vec.gz", "vectors", rows=10_000)
    short, rare, untrained = extracted.left_out
    assert short == "1 short sentence (line 301)"
    assert rare == f"rare words: {training.vocabulary.rare}"
    assert untrained == f"words that were never a target: {len(training.vocabulary.words) - extracted.words}"
    assert 0 < extracted.words < len(training.vocabulary.words) / 2
    assert len(vectors.words) == extracted.words
    assert set(vectors.words) < set(training.vocabulary.words)


def test_a_text_without_frequent_words_is_refused_with_what_was_left_out(tmp_path, text):
    with pytest.raises(RequestError, match=r"occurs 9999 times in the 300 sentences .* Left out: rare words: \d+"):
        extract(WORLD, text, "qor", tmp_path / "none.vec", replace(OPTIONS, least_count=9999), seed=0)


def test_a_text_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(RequestError, match=r"text: .*gone\.txt: .* Name a whole file that you may read"):
        extract(WORLD, tmp_path / "gone.txt", "qor", tmp_path / "none.vec", OPTIONS, seed=0)


def test_lines_without_any_word_do_no_harm(tmp_path, text):
    text.write_text("\u200b \u2028\n" * 40 + text.read_text())
    options = replace(OPTIONS, least_words=0, epochs=1)
    assert extract(WORLD, text, "qor", tmp_path / "some.vec", options, seed=0).sentences >= 300


def unit(table):
    return table / np.linalg.norm(table, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def qan(tmp_path_factory):
    """Vectors of the world's close target language."""
    to = tmp_path_factory.mktemp("qan") / "qan.vec.gz"
    options = ExtractOptions(layer=3, least_count=5, subsampling=1e-3, epochs=1, batch_size=64, lr=1e-2)
    return extract(WORLD, world("text/qan.txt.gz"), "qan", to, options, seed=0), to


def test_words_of_one_scene_come_out_closer_than_words_of_two_topics(qan):
    vectors, forms = read_vectors(qan[1], "vectors", rows=10_000), make_languages(0)["qan"].forms
    rows = {word: row for row, word in enumerate(vectors.words)}
    nouns = [c for c in CONCEPTS if c.kind == "noun" and c.scene != GENERAL and forms[c.number][0] in rows]
    table = unit(vectors.table - vectors.table.mean(0))[[rows[forms[c.number][0]] for c in nouns]]
    cosines = table @ table.T
    scenes, topics = (np.array([getattr(c, name) for c in nouns]) for name in ("scene", "topic"))
    together = (scenes[:, None] == scenes) & ~np.eye(len(nouns), dtype=bool)
    apart = topics[:, None] != topics
    assert cosines[together].mean() - cosines[apart].mean() > 0.25


def test_neighbours_agree_with_those_of_vectors_counted_from_the_text_alone(qan):
    extracted, shipped = (read_vectors(file, "vectors", rows=10_000) for file in (qan[1], world("vectors/qan.vec.gz")))
    common = [word for word in extracted.words if word in set(shipped.words)]
    assert len(common) > 500

    def neighbours(vectors):
        rows = {word: row for row, word in enumerate(vectors.words)}
        table = unit((vectors.table - vectors.table.mean(0))[[rows[word] for word in common]])
        cosines = table @ table.T
        np.fill_diagonal(cosines, -1)
        return np.argsort(-cosines, axis=1)[:, :10]

    pairs = zip(neighbours(extracted), neighbours(shipped), strict=True)
    shared = np.mean([len(set(ours) & set(theirs)) for ours, theirs in pairs])
    assert shared > 10 * (10 * 10 / len(common))  # ten times what random vectors share


def test_the_loss_falls_well_below_that_of_vectors_of_zeros(qan):
    assert qan[0].loss < 0.7 * 11 * np.log(2)
