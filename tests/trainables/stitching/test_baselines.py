"""The baselines on the embedded world, against other libraries on the same files."""

import dataclasses
import gzip

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from transformers import AutoTokenizer

from seedwise import spaces
from seedwise.search.spec.load import read
from seedwise.spaces.baselines import baseline_space
from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.method import Candidates
from seedwise.trainables.methods import spec_of
from seedwise.trainables.stitching import baselines
from seedwise.trainables.stitching.baselines import BASELINES
from seedwise.trainables.stitching.maps import fit
from seedwise.trainables.stitching.options import StitchingOptions
from seedwise.trainables.stitching.prepare import StitchingTests, least_squares
from seedwise.trainables.stitching.reader import WordSet
from seedwise.trainables.stitching.trainable import Stitching
from seedwise.trainables.streams import STREAMS, Streams
from seedwise.trainables.training.encoder import initialise, skeleton
from seedwise.trainables.training.learner import Learner
from seedwise.trainables.world import FILES
from tests.prepared import prepare, prepare_test

CPU = torch.device("cpu")
FINE_TUNED = ("ls", "zero_shot")
METHOD = spaces.load("stitching", {"lr": 2e-3, "epochs": 2, "batch_size": 8})
NAMES = tuple(spec_of("stitching").baselines)
SPACES = {name: baseline_space("stitching", name, METHOD, {}) for name in NAMES}


def specification():
    made = read("demo").as_dict()
    made["baselines"] = {"zero_shot": {}}
    made["inputs"]["multilingual"] = "world:multilingual-encoder"
    return made


@pytest.fixture(scope="module")
def tests():
    return prepare_test(Stitching, specification())


@pytest.fixture(scope="module")
def inputs(tests):
    """The world has no labelled training data in its targets, so their test sets stand in."""
    return dataclasses.replace(prepare(Stitching, specification()), labelled=tests.targets)


@pytest.fixture(scope="module")
def few(inputs):
    """Fewer examples, for tests that need no learning."""
    multilingual, targets = inputs.multilingual, inputs.targets
    return dataclasses.replace(
        inputs,
        train=first(inputs.train, 96),
        dev=first(inputs.dev, 20),
        targets={name: dataclasses.replace(target, dev=first(target.dev, 20)) for name, target in targets.items()},
        multilingual=dataclasses.replace(
            multilingual,
            train=first(multilingual.train, 96),
            dev={name: first(data, 20) for name, data in multilingual.dev.items()},
        ),
    )


def first(data, count):
    return Encoded(data.ids[:count], data.lengths[:count], data.labels[:count])


def made(name, inputs, replicate=0, vary=None, **changes):
    params = SPACES[name].complete(changes)
    return BASELINES[params.pop("baseline")](inputs, params, Streams(0, replicate, vary), CPU)


def run(name, inputs, replicate=0, **changes):
    method = made(name, inputs, replicate, **changes)
    return method, [method.step(number) for number in range(method.steps)]


def test_each_baseline_is_named_and_the_one_that_sees_target_labels_says_so():
    assert {name: kind.options_type.title for name, kind in BASELINES.items()} == {
        "ls": "LS",
        "lr": "LR (target labels)",
        "zero_shot": "zero-shot",
        "constant": "constant",
    }
    assert tuple(BASELINES) == NAMES


@pytest.fixture(scope="module")
def methods_own(few, tests):
    method = Stitching(few, METHOD.complete({"k": 5}), Streams(0, 0), CPU)
    return set(method.step(0)), set(method.step(1)), set(method.test(tests))


@pytest.mark.parametrize("name", BASELINES)
def test_metrics_have_the_methods_names(name, few, tests, methods_own):
    method, metrics = run(name, few)
    tested = set(method.test(tests))
    of_target_labels = {f"train/unknown_share/{language}" for language in few.targets} if name == "lr" else set()
    assert set(metrics[-1]) - methods_own[1] == of_target_labels
    assert tested <= methods_own[2]
    if name in FINE_TUNED:
        assert set(metrics[0]) <= methods_own[0]
    names = {*metrics[-1], *tested}
    languages = ("qan", "qor") if name == "lr" else ("qel", "qan", "qor")
    common = {f"{split}/{metric}" for split in ("dev", "test") for metric in ("macro_f1", "accuracy")}
    assert {f"{metric}/{language}" for metric in common for language in languages} <= names
    if name == "lr":
        assert not any("/qel" in metric for metric in names)


@pytest.mark.parametrize("name", BASELINES)
def test_a_run_depends_on_its_streams_alone(name, few):
    once = run(name, few)[1]
    torch.rand(100)
    np.random.rand(100)  # noqa: NPY002 (the global generator must not matter)
    assert run(name, few)[1] == once
    assert (run(name, few, replicate=1)[1] != once) == (name in FINE_TUNED)


@pytest.mark.parametrize("name", BASELINES)
def test_streams_used_are_those_that_change_a_run(name, few):
    used = BASELINES[name].streams_used(SPACES[name].complete({}))
    reference = made(name, few).step(0)
    for stream in STREAMS:
        assert (made(name, few, 1, stream).step(0) != reference) == (stream in used), stream


def test_half_of_the_anchors_are_drawn_by_their_own_stream_alone(few):
    half, vectors, words = {"anchors": 0.5}, few.targets["qan"].vectors, slice(len(few.specials), None)
    assert BASELINES["ls"].streams_used(SPACES["ls"].complete(half)) == ("head", "order", "dropout", "anchors")
    reference = made("ls", few, **half).table("qan", vectors)[words]
    for stream in STREAMS:
        table = made("ls", few, 1, stream, **half).table("qan", vectors)[words]
        assert torch.equal(table, reference) == (stream != "anchors"), stream


@pytest.mark.parametrize("name", FINE_TUNED)
def test_continuing_from_a_checkpoint_is_bit_identical(name, few, tmp_path):
    _, metrics = run(name, few)
    half = made(name, few)
    assert half.step(0) == metrics[0]
    half.save(tmp_path)
    other = made(name, few)
    other.load(tmp_path)
    assert other.step(1) == metrics[1]


@pytest.mark.parametrize("name", FINE_TUNED)
def test_a_classifier_that_predicts_one_class_reports_its_scores(name, few):
    metrics = made(name, few, lr=3.0, epochs=1).step(0)
    assert metrics["dev/predicted_classes/qel"] == 1
    assert metrics["dev/macro_f1/qel"] < 0.1


def by_hand(language):
    """Anchors A^t and A^s of the world's files: single pieces, the first translation of a target word."""
    with gzip.open(FILES / "vectors" / f"{language}.vec.gz", "rt") as file:
        lines = [line.split() for line in file.readlines()[1:]]
    vectors = {word: np.array(numbers, dtype=np.float32) for word, *numbers in lines}
    tokenizer = AutoTokenizer.from_pretrained(FILES / "source-encoder")
    weights = load_file(FILES / "source-encoder" / "model.safetensors")
    (table,) = [value for key, value in weights.items() if key.endswith("word_embeddings.weight")]
    pairs = {}
    for line in (FILES / "lexicons" / f"qel-{language}.txt").read_text().splitlines():
        source, target = line.split()
        pieces = tokenizer(source, add_special_tokens=False)["input_ids"]
        if target in vectors and len(pieces) == 1 and pieces[0] != tokenizer.unk_token_id:
            pairs.setdefault(target, pieces[0])
    return np.stack([vectors[word] for word in pairs]), table[list(pairs.values())]


@pytest.mark.parametrize("language", ["qan", "qor"])
def test_the_table_of_ls_is_numpys_least_squares_on_the_files(inputs, language):
    method = made("ls", inputs)
    of_target, of_source = by_hand(language)
    mapping = np.linalg.lstsq(of_target.astype(float), of_source.astype(float))[0]
    target = inputs.targets[language]
    table = method.table(language, target.vectors[: target.used]).numpy()
    np.testing.assert_allclose(table[len(inputs.specials) :], target.vectors[: target.used] @ mapping, atol=1e-5)
    assert method.constants()[f"train/anchors/{language}"] == len(of_target)
    original = inputs.encoder.weights["embeddings.word_embeddings.weight"]
    np.testing.assert_array_equal(table[: len(inputs.specials)], original[inputs.specials])


def test_the_special_tokens_of_ls_are_the_fine_tuned_ones(few):
    method = made("ls", few)
    vectors = few.targets["qan"].vectors
    before = method.table("qan", vectors)
    method.step(0)
    after, specials = method.table("qan", vectors), len(few.specials)
    assert torch.equal(after[specials:], before[specials:])
    trained = method.learner.model.get_input_embeddings().weight.detach()[torch.from_numpy(few.specials)]
    assert torch.equal(after[:specials], trained)
    assert not torch.equal(after[:specials], before[:specials])


def test_the_source_model_of_ls_is_trained_on_the_original_table_and_does_not_depend_on_the_targets(few):
    """The same training as an explicit loop: the encoder as it is, without stitching."""
    _, metrics = run("ls", few)
    options, streams = StitchingOptions(lr=2e-3, epochs=2, batch_size=8), Streams(0, 0)
    model = skeleton(few.encoder, len(few.labels))
    initialise(model, few.encoder, streams.seed("head"))
    learner = Learner(model, options, len(few.train), CPU)
    for number in range(2):
        seeds = {"order": streams.seed("order", number), "dropout": streams.seed("dropout", number)}
        loss = learner.epoch(few.train, **seeds, loss_of=lambda batch: model(**batch).loss)
        expected = f1_score(few.dev.labels, learner.predict(few.dev), average="macro", labels=range(6), zero_division=0)
        assert metrics[number]["train/loss/qel"] == loss
        assert metrics[number]["dev/macro_f1/qel"] == pytest.approx(expected)
    alone = dataclasses.replace(few, targets={"qor": few.targets["qor"]})
    shared = [{name: value for name, value in epoch.items() if "qan" not in name} for epoch in metrics]
    assert run("ls", alone)[1] == shared


@pytest.mark.parametrize("options", [{"map": "ridge", "strength": 1.0}, {"map": "orthogonal"}, {"anchors": 0.5}])
def test_other_maps_and_anchors_are_other_tables_in_the_same_model(few, options):
    plain, other = made("ls", few), made("ls", few, **options)
    vectors = few.targets["qan"].vectors
    assert not torch.allclose(plain.table("qan", vectors), other.table("qan", vectors), atol=1e-3)
    of_plain, of_other = plain.step(0), other.step(0)
    assert of_plain["train/loss/qel"] == of_other["train/loss/qel"]
    assert of_plain["dev/macro_f1/qel"] == of_other["dev/macro_f1/qel"]


def siblings_of(few, *changes):
    """Inputs of a search whose baseline ls has these configurations."""
    made_of = [SPACES["ls"].complete(change) for change in changes]
    return dataclasses.replace(few, least_squares=least_squares(Candidates({"baselines.ls": made_of})))


MAP_CHANGES = ({}, {"map": "ridge"}, {"map": "ridge", "strength": 0.3}, {"map": "orthogonal"}, {"anchors": 0.5})


def test_the_run_that_trains_the_source_model_scores_for_all_maps_to_the_last_bit(few, tests):
    """Each against a run of its own that knows of no other."""
    inputs = siblings_of(few, *MAP_CHANGES, {"epochs": 1}, {"lr": 1e-3, "map": "ridge"})
    alone = [made("ls", few, **change) for change in MAP_CHANGES]
    first = made("ls", inputs)
    assert first.metrics_of_siblings() == {}
    known = [other.fingerprint(None) for other in alone]
    assert first.fingerprint(None) == known[0]
    assert len(set(known)) == 5
    assert len({text.partition("/")[0] for text in known}) == 1
    for number in range(2):
        assert first.step(number) == alone[0].step(number)
        expected = {text: other.step(number) for text, other in zip(known[1:], alone[1:], strict=True)}
        constants = first.constants().keys()
        for metrics in expected.values():
            for name in constants:
                metrics.pop(name, None)
        assert first.metrics_of_siblings() == expected
    tested = first.test(tests)
    assert tested == alone[0].test(tests)
    for text, other in zip(known[1:], alone[1:], strict=True):
        assert first.metrics_of_siblings()[text] == expected[text] | other.test(tests)


def test_other_trainings_and_other_seeds_are_no_siblings(few):
    plain = made("ls", few).fingerprint(None).partition("/")[0]
    for change in ({"lr": 1e-3}, {"epochs": 1}, {"batch_size": 4}, {"weight_decay": 0.1}, {"precision": "bf16"}):
        assert made("ls", few, **change).fingerprint(None).partition("/")[0] != plain
    for vary in ("head", "order", "dropout"):
        assert made("ls", few, 1, vary).fingerprint(None).partition("/")[0] != plain
    assert made("ls", few, 1, "anchors", anchors=0.5).fingerprint(None).partition("/")[0] == plain
    assert made("ls", few, 1, "anchors", anchors=0.5).fingerprint(None) != made("ls", few, anchors=0.5).fingerprint(
        None
    )


def test_from_a_checkpoint_on_the_siblings_have_the_scores_they_would_have_had(few, tmp_path):
    """Their maps are fitted on the pretrained word table, not on the trained one."""
    inputs = siblings_of(few, {}, {"map": "ridge"})
    straight, half, other = (made("ls", inputs) for _ in range(3))
    straight.step(0), half.step(0)
    half.save(tmp_path)
    other.load(tmp_path)
    assert (other.step(1), other.metrics_of_siblings()) == (straight.step(1), straight.metrics_of_siblings())
    (maps,) = other.siblings.values()
    for language, own in made("ls", few, map="ridge").maps.maps.items():
        np.testing.assert_array_equal(maps.maps[language], own)


def test_a_sibling_whose_map_cannot_be_fitted_fails_alone(few, monkeypatch):
    def failing(kind, *arguments):
        if kind == "ridge":
            raise ValueError("no anchor is left")
        return fit(kind, *arguments)

    monkeypatch.setattr(baselines, "fit", failing)
    first = made("ls", siblings_of(few, {}, {"map": "ridge"}, {"map": "orthogonal"}))
    assert first.step(0) == made("ls", few).step(0)
    assert list(first.metrics_of_siblings()) == [made("ls", few, map="orthogonal").fingerprint(None)]
    with pytest.raises(ValueError, match="no anchor is left"):
        made("ls", few, map="ridge")


def test_a_training_that_collapses_collapses_for_all_maps(few):
    collapses = {"lr": 3.0, "epochs": 1}
    first = made("ls", siblings_of(few, collapses, {**collapses, "map": "ridge"}), **collapses)
    first.step(0)
    alone = made("ls", few, **collapses, map="ridge").step(0)
    assert alone["dev/predicted_classes/qel"] == 1
    (metrics,) = first.metrics_of_siblings().values()
    assert metrics | first.constants() == alone


@pytest.mark.parametrize("name", FINE_TUNED)
def test_the_targets_learn_from_the_source_alone(name, inputs):
    _, metrics = run(name, inputs, epochs=1)
    constant = made("constant", inputs).step(0)
    assert metrics[-1]["dev/macro_f1/qel"] > 0.6
    for language in ("qan", "qor"):
        assert metrics[-1][f"dev/macro_f1/{language}"] > 3 * constant[f"dev/macro_f1/{language}"]
        assert metrics[-1][f"dev/macro_f1/{language}"] < metrics[-1]["dev/macro_f1/qel"]


@pytest.mark.parametrize("name", BASELINES)
def test_dev_as_the_test_set_gets_the_scores_of_dev(name, few):
    """Its words in another order than the search had them: a test set has a table of its own."""
    specials, copies = len(few.specials), {}
    for language, target in few.targets.items():
        ids = np.where(target.dev.ids < specials, target.dev.ids, 2 * specials + target.used - 1 - target.dev.ids)
        data = dataclasses.replace(target.dev, ids=ids)
        copies[language] = WordSet(target.vectors[: target.used][::-1].copy(), data, target.unknown_share)
    method, metrics = run(name, few)
    tested = method.test(StitchingTests(few.dev, few.unknown_shares["dev"], copies, few.multilingual.dev))
    dev = {f"test/{name[4:]}": value for name, value in metrics[-1].items() if name.startswith("dev/")}
    assert tested == pytest.approx(dev)


@pytest.mark.parametrize("c", [1.0, 100.0])
@pytest.mark.parametrize("normalise", [False, True])
def test_lr_is_scikit_learns_on_means_computed_in_a_loop(inputs, tests, c, normalise):
    method = made("lr", inputs, c=c, normalise=normalise)
    metrics = method.step(0) | method.test(tests)

    def features(data, vectors):
        rows = []
        for sentence in data.ids:
            known = [vectors[token - len(inputs.specials)] for token in sentence if token >= len(inputs.specials)]
            if normalise:
                known = [vector / np.linalg.norm(vector) for vector in known]
            rows.append(np.mean(known, axis=0, dtype=float))
        return np.array(rows)

    for language in ("qan", "qor"):
        train, dev = tests.targets[language], inputs.targets[language]
        of_train = features(train.data, train.vectors)
        model = LogisticRegression(C=c, max_iter=1000).fit(of_train, train.data.labels)
        for split, data, rows in (("test", train.data, of_train), ("dev", dev.dev, features(dev.dev, dev.vectors))):
            expected = f1_score(data.labels, model.predict(rows), average="macro", labels=range(6), zero_division=0)
            assert metrics[f"{split}/macro_f1/{language}"] == pytest.approx(expected)
        assert metrics[f"dev/unknown_share/{language}"] == dev.unknown_share


def test_a_sentence_is_the_mean_of_its_known_words_and_without_any_it_is_zero(inputs):
    method, specials = made("lr", inputs), len(inputs.specials)
    vectors = np.array([[1.0, 0.0], [0.0, 4.0]], dtype=np.float32)
    ids = np.array([[0, specials, specials + 1, specials + 1], [0, 1, specials + 1, 2], [0, 1, 1, 2]], dtype=np.int32)
    data = Encoded(ids, np.full(3, 4), np.zeros(3, dtype=np.int64))
    np.testing.assert_allclose(method.means(data, vectors), [[1 / 3, 8 / 3], [0, 4], [0, 0]])
    unit = made("lr", inputs, normalise=True)
    np.testing.assert_allclose(unit.means(data, vectors), [[1 / 3, 2 / 3], [0, 1], [0, 0]])


def test_the_constant_classifier_is_scikit_learns(inputs, tests):
    method = made("constant", inputs)
    metrics = method.step(0) | method.test(tests)
    dummy = DummyClassifier(strategy="most_frequent").fit(inputs.train.ids, inputs.train.labels)
    sets = {"dev/{}/qel": inputs.dev, "dev/{}/qan": inputs.targets["qan"].dev, "test/{}/qel": tests.source}
    sets["test/{}/qor"] = tests.targets["qor"].data
    for name, data in sets.items():
        predicted = dummy.predict(data.ids)
        expected = f1_score(data.labels, predicted, average="macro", labels=range(6), zero_division=0)
        assert metrics[name.format("macro_f1")] == pytest.approx(expected)
        assert metrics[name.format("accuracy")] == pytest.approx(np.mean(data.labels == predicted))
        assert metrics[name.format("predicted_classes")] == 1


@pytest.mark.parametrize(
    ("train", "test", "expected"),
    [
        ([224, 208, 147, 122, 112, 47], [29, 26, 19, 16, 14, 7], 0.069),  # Taxi1500, Recommendation first
        ([80, 40, 80], [40, 20, 40], 0.190),  # Amazon: balanced stars, merged to three classes
    ],
)
def test_the_constant_classifier_scores_what_the_published_label_counts_imply(inputs, train, test, expected):
    def counted(counts):
        labels = np.repeat(np.arange(len(counts)), counts)
        return Encoded(np.zeros((len(labels), 1), dtype=np.int32), np.ones(len(labels), dtype=np.int64), labels)

    labels = [str(label) for label in range(len(train))]
    published = dataclasses.replace(inputs, labels=labels, train=counted(train), dev=counted(test), targets={})
    assert made("constant", published).step(0)["dev/macro_f1/qel"] == pytest.approx(expected, abs=5e-4)
