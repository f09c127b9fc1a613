"""An EAR run on the embedded world, without Ray."""

import csv
import dataclasses
import functools
import json
import shutil
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn.functional import cosine_similarity, cross_entropy
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer, XLMRobertaConfig, pipeline

from seedwise.errors import RequestError
from seedwise.search.spec.load import from_dict, read
from seedwise.spaces.ear import default
from seedwise.trainables.ear import trainable as ear_trainable
from seedwise.trainables.ear.augment import Dictionary
from seedwise.trainables.ear.embeddings import gaussian
from seedwise.trainables.ear.export import export_model
from seedwise.trainables.ear.heads import set_head
from seedwise.trainables.ear.options import EarOptions
from seedwise.trainables.ear.pictures import WORDS, translations_found
from seedwise.trainables.ear.prepare import parallel_words
from seedwise.trainables.ear.trainable import Ear
from seedwise.trainables.ear.two_stream import TwoStream
from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.method import RunFailed
from seedwise.trainables.pictures import checked
from seedwise.trainables.request import Task
from seedwise.trainables.streams import STREAMS, Streams
from seedwise.trainables.tasks.sources import Classification
from seedwise.trainables.training.encoder import Encoder, initialise, skeleton
from seedwise.trainables.training.learner import Learner
from seedwise.trainables.world import FILES
from tests.prepared import prepare, prepare_test, request

CPU = torch.device("cpu")
ENCODER = FILES / "multilingual-encoder"
FEW, BATCH = 8, 4  # examples, for tests that need no learning
# Runs stop before the third epoch: see `run`. Memory does not matter here.
FIXED = {"lr": 2e-3, "epochs": 3, "batch_size": BATCH, "layer": 2, "gradient_checkpointing": False}
ROUNDING = 1e-10  # of a mean of squares whose terms should be equal: halves of a batch may be summed in another order
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


@functools.cache
def demo():
    return read("demo-ear").as_dict()


@functools.cache
def world():
    return prepare(Ear, demo())


@functools.cache
def texts_of(language, split):
    return Classification(Task(**demo()["task"])).split(language, split)


def cut(count, shown=10):
    """The world with `count` training examples, and few sentences in all other sets."""
    inputs, train = world(), world().train
    rows = {"sentences": train.sentences[:count], "labels": train.labels[:count], "lengths": train.lengths[:count]}
    return dataclasses.replace(
        inputs,
        train=dataclasses.replace(train, **rows),
        dev={name: first(data, shown) for name, data in inputs.dev.items()},
        parallel={name: sentences[:6] for name, sentences in inputs.parallel.items()},
    )


def first(data, count):
    return Encoded(data.ids[:count], data.lengths[:count], data.labels[:count])


def without_dropout(inputs):
    encoder = inputs.encoder
    return dataclasses.replace(inputs, encoder=dataclasses.replace(encoder, config={**encoder.config, **NO_DROPOUT}))


@pytest.fixture(scope="module")
def few():
    return cut(FEW)


def made(inputs, replicate=0, vary=None, **changes):
    params = default.canonical({**default.defaults, **FIXED, **changes})
    return Ear(inputs, params, Streams(0, replicate, vary), CPU)


def run(inputs, replicate=0, until=2, **changes):
    """A run without its last epoch: a model trained on so little may predict a single class at the end."""
    method = made(inputs, replicate, **changes)
    return method, [method.step(number) for number in range(until)]


@pytest.fixture(scope="module")
def straight(few):
    return run(few)


@pytest.fixture(scope="module")
def trained():
    """A complete run, on enough examples to learn from."""
    method = made(cut(96, shown=30), epochs=2, batch_size=8)
    return method, [method.step(number) for number in range(2)]


def gradients(method):
    """The metrics of an epoch, and the gradients of its updates, which are not applied."""
    recorded, model = [], method.learner.model

    def update():
        recorded.append({name: part.grad.clone() for name, part in model.named_parameters() if part.grad is not None})
        model.zero_grad()

    method.learner.update = update
    return method.step(0), recorded


def assert_close(ones, others):
    """Gradients are equal up to rounding, in each update and each weight."""
    assert len(ones) == len(others) > 1
    for actual, expected in zip(ones, others, strict=True):
        assert actual.keys() == expected.keys()
        for name, gradient in actual.items():
            torch.testing.assert_close(
                gradient, expected[name], rtol=1e-3, atol=2e-6, msg=lambda text, at=name: at + text
            )


def copies_by_hand(epoch, seed=0, *, copies=1, **options):
    """The words of the source's first sentences and of their copies, from the files of the world."""
    texts, _ = texts_of("qel", "train")
    words = {word: tuple(known) for word, known in json.loads((FILES / "synonyms" / "qel.json").read_text()).items()}
    streams = Streams(0, seed)
    dictionary = Dictionary(words, **{"scale": 1.0, "exact": False, **options}, seed=streams.seed("augmentation"))
    drawn = streams.seed("augmentation", epoch)
    originals = [texts[row % FEW].split() for row in range(copies * FEW)]
    return originals, [dictionary.copy((words,), Random(f"{drawn}/{row}"))[0][0] for row, words in enumerate(originals)]


def test_the_targets_learn_from_the_source_alone(trained):
    _, metrics = trained
    assert metrics[-1]["dev/accuracy/qel"] > 0.5
    assert metrics[-1]["dev/accuracy/qan"] > 0.35  # of six classes
    assert metrics[-1]["train/robust/qel"] < 0.95 * metrics[0]["train/robust/qel"]
    shares = {name: value for name, value in metrics[-1].items() if name.startswith("dev/share_of_")}
    assert sum(value for name, value in shares.items() if name.endswith("/qan")) == pytest.approx(1)
    assert not any("/share_of_" in name for name in metrics[0])


def test_a_run_depends_only_on_its_streams(few, straight):
    method, metrics = straight
    torch.rand(100)
    np.random.rand(100)  # noqa: NPY002 (the global generator is what must not matter)
    run(few, replicate=3, until=1, push="nt", pull="srpt", shared_dropout=False)
    again, repeated = run(few)
    assert repeated == metrics
    assert again.curves == method.curves
    assert run(few, replicate=1)[1] != metrics


@pytest.mark.parametrize("changes", [{}, {"push": "nt", "shared_dropout": False, "attention": "padded"}])
def test_continuing_from_a_checkpoint_is_bit_identical(few, straight, tmp_path, changes):
    method, metrics = straight if not changes else run(few, **changes)
    half, first_epoch = run(few, until=1, **changes)
    assert first_epoch == metrics[:1]
    half.save(tmp_path)
    other = made(few, **changes)
    other.load(tmp_path)
    assert other.step(1) == metrics[1]
    assert other.curves == method.curves
    assert {len(points) for name, points in method.curves.items() if "floor" not in name} == {2 * FEW // BATCH}


@pytest.mark.parametrize("checkpointing", ["selective", True])
@pytest.mark.parametrize("changes", [{}, {"shared_dropout": False, "pull": "srpt"}])
def test_recomputing_activations_changes_no_bit(few, checkpointing, changes):
    _, expected = run(few, **changes)
    assert run(few, gradient_checkpointing=checkpointing, **changes)[1] == expected


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"attention": "tokens", "reduction": "sum", "shared_dropout": False, "unchanged": "keep"},
        {"attention": "padded", "pull": "apt"},
        {"pull": "srpt"},
    ],
)
def test_batches_that_are_accumulated_are_one_batch(few, changes):
    """Losses are per pair, so they do not depend on the rest of the batch: without dropout, up to rounding."""
    inputs = without_dropout(few)
    whole, of_whole = gradients(made(inputs, batch_size=BATCH, **changes))
    parts, of_parts = gradients(made(inputs, batch_size=BATCH // 2, accumulation=2, **changes))
    assert_close(of_whole, of_parts)
    assert whole == pytest.approx(parts, rel=1e-4, abs=1e-7)
    assert whole["train/push/qel"] < 0 < whole["train/pull/qel"]


@pytest.mark.parametrize("options", [{"copies": 2}, {"scale": 0.5}, {"matching": "exact"}, {"redraw": "once"}])
def test_the_shares_of_changed_words_and_unchanged_pairs_are_counted(few, options):
    _, metrics = run(few, **options)
    how = {"exact": options.get("matching") == "exact", "scale": options.get("scale", 1.0)}
    for number in range(2):
        epoch = 0 if options.get("redraw") == "once" else number
        pairs = list(zip(*copies_by_hand(epoch, copies=options.get("copies", 1), **how), strict=True))
        shares = [sum(a != b for a, b in zip(*pair, strict=True)) / len(pair[0]) for pair in pairs]
        assert 0 < np.mean(shares) < 1
        assert metrics[number]["train/changed_share/qel"] == pytest.approx(np.mean(shares))
        assert metrics[number]["train/unchanged_pairs/qel"] == pytest.approx(np.mean([a == b for a, b in pairs]))
        # Two streams for each copy in each epoch.
        assert metrics[number]["train/encoder_passes/qel"] == 2 * options.get("copies", 1) * (number + 1)


def test_push_and_pull_are_those_of_transformers_own_passes(few):
    """Every pair by itself, eager attention, no padding, the maps of layer 2; the run hardly moves its weights."""
    options = {"lr": 1e-12, "attention": "tokens", "alpha": 3.0, "beta": 7.0}
    _, (metrics,) = run(without_dropout(few), until=1, **options)
    tokenizer = AutoTokenizer.from_pretrained(ENCODER)
    model = AutoModel.from_pretrained(ENCODER, attn_implementation="eager").eval()
    push, pull = [], []
    for pair in zip(*copies_by_hand(0), strict=True):
        passes = []
        for words in pair:
            with torch.no_grad():
                batch = tokenizer(" ".join(words), return_tensors="pt")
                passes.append(model(**batch, output_attentions=True, output_hidden_states=True))
        (mean, of_copy) = (output.hidden_states[0][0].mean(0) for output in passes)
        maps = [output.attentions[1][0] for output in passes]
        longest = max(attention.shape[-1] for attention in maps)
        padded = [torch.nn.functional.pad(attention, (0, longest - attention.shape[-1]) * 2) for attention in maps]
        push.append(-(mean - of_copy).square().mean().item())
        pull.append((padded[0] - padded[1]).square().mean().item())
    assert metrics["train/push/qel"] == pytest.approx(np.mean(push), rel=1e-4)
    assert metrics["train/pull/qel"] == pytest.approx(np.mean(pull), rel=1e-4)
    total = metrics["train/robust/qel"] + 3 * metrics["train/push/qel"] + 7 * metrics["train/pull/qel"]
    assert metrics["train/loss/qel"] == pytest.approx(total, rel=1e-6)
    norm = model.embeddings.LayerNorm.weight.norm().item()
    assert metrics["train/embedding_gain/qel"] == pytest.approx(norm)


@pytest.mark.parametrize("pull", ["apt", "srpt"])
def test_identical_inputs_differ_by_dropout_alone(few, pull):
    _, shared = run(few, until=1, pull=pull)
    assert abs(shared[0]["train/push_floor/qel"]) <= ROUNDING
    assert abs(shared[0]["train/pull_floor/qel"]) <= ROUNDING
    method, separate = run(few, until=1, pull=pull, shared_dropout=False)
    assert separate[0]["train/push_floor/qel"] < -1e3 * ROUNDING
    assert separate[0]["train/pull_floor/qel"] > 1e3 * ROUNDING
    points = method.curves["push_floor"]
    assert [point[0] for point in points] == list(range(FEW // BATCH))  # six batches in total, the floor at each
    assert separate[0]["train/push_floor/qel"] == points[-1][1]


@pytest.mark.parametrize("changes", [{"shared_dropout": False}, {"push": "nt"}])
def test_measuring_the_floor_leaves_no_trace_in_the_training(few, monkeypatch, changes):
    def without_floors(floors, **more):
        monkeypatch.setattr(ear_trainable, "FLOORS", floors)
        method, metrics = run(few, **changes, **more)
        return len(method.curves.get("push_floor", [])), [
            {name: value for name, value in epoch.items() if "floor" not in name} for epoch in metrics
        ]

    seldom, expected = without_floors(1)
    often, actual = without_floors(1000)
    assert (seldom, often) == (1, 2 * FEW // BATCH)
    assert actual == expected
    monkeypatch.setattr(Ear, "measure_floor", lambda *arguments: None)
    assert without_floors(1) == (0, expected)


@pytest.mark.parametrize(
    "changes", [{"push": "none", "pull": "none", "copies": 2}, {"push": "nt", "pull": "srpt", "scale": 0.5}]
)
def test_exactly_the_named_streams_change_a_run(few, changes):
    used = Ear.streams_used(made(few, **changes).params)
    assert used == ("head", "order", "dropout", "augmentation")
    (reference,) = run(few, until=1, **changes)[1]
    for stream in STREAMS:
        assert (made(few, 1, stream, **changes).step(0) != reference) == (stream in used), stream


def test_without_push_and_pull_it_is_cross_entropy_on_both_streams(few):
    """The same training as an explicit loop: two ordinary passes of transformers' own classifier."""
    inputs, streams = without_dropout(few), Streams(0, 0)
    method = made(inputs, push="none", pull="none")
    metrics, actual = gradients(method)
    labels, copies = torch.from_numpy(inputs.train.labels), copies_by_hand(0)
    tokenizer = AutoTokenizer.from_pretrained(ENCODER)
    model = skeleton(inputs.encoder, len(inputs.labels))
    initialise(model, inputs.encoder, streams.seed("head"))
    learner = Learner(model, method.options, FEW, CPU)

    def loss_of(rows):
        losses = []
        for stream in copies:
            batch = tokenizer([" ".join(stream[row]) for row in rows], padding=True, return_tensors="pt")
            losses.append(cross_entropy(model(**batch).logits, labels[rows]))
        return sum(losses)

    def update():
        expected.append({name: part.grad.clone() for name, part in model.named_parameters() if part.grad is not None})
        model.zero_grad()

    expected, learner.update = [], update
    seeds = {"order": streams.seed("order", 0), "dropout": streams.seed("dropout", 0)}
    loss = learner.epoch_of_rows(inputs.train.lengths, **seeds, loss_of=loss_of)
    assert_close(actual, expected)
    assert metrics["train/loss/qel"] == metrics["train/robust/qel"] == pytest.approx(loss, rel=1e-5)
    assert metrics["train/push/qel"] == metrics["train/pull/qel"] == 0.0


@pytest.mark.parametrize(
    ("common", "ones", "others"),
    [
        ({"push": "nt", "shared_dropout": False}, {"unchanged": "skip"}, {"unchanged": "keep"}),
        ({"push": "nt"}, {"alpha": 1.0, "cap": 1.0}, {"alpha": 9.0, "cap": 0.0}),
        ({"push": "none", "pull": "srpt"}, {"alpha": 1.0, "attention": "words"}, {"alpha": 9.0, "attention": "padded"}),
        ({"pull": "none"}, {"beta": 0.1, "layer": 2, "sigma": 0.1}, {"beta": 9.0, "layer": 4, "sigma": 1.0}),
        ({"push": "none", "pull": "none"}, {"reduction": "mean"}, {"reduction": "sum"}),
        ({"epochs": 1}, {"redraw": "epoch"}, {"redraw": "once"}),
    ],
)
def test_parameters_dropped_by_the_canonical_form_change_no_bit_of_a_run(few, common, ones, others):
    metrics, forms = [], []
    for options in (ones, others):
        params = {**default.defaults, **FIXED, **common, **options}
        forms.append(default.canonical(params))
        method = Ear(few, params, Streams(0, 0), CPU)
        try:
            metrics.append(method.step(0))
        except RunFailed as failed:  # of one epoch, and after it a single class
            metrics.append(failed.metrics)
    assert metrics[0] == metrics[1]
    assert forms[0] == forms[1]


@pytest.mark.parametrize(
    ("zero", "plain"),
    [
        ({"alpha": 0.0}, {"push": "none"}),
        ({"beta": 0.0}, {"pull": "none"}),
        ({"push": "nt", "sigma": 0.0}, {"push": "none"}),
    ],
)
def test_a_weight_of_zero_trains_as_no_target_does(few, zero, plain):
    params = [{**default.defaults, **FIXED, **changes} for changes in (zero, plain)]
    (_, actual), (_, second) = (gradients(Ear(without_dropout(few), each, Streams(0, 0), CPU)) for each in params)
    assert_close(actual, second)


def test_unchanged_pairs_have_nothing_to_skip_where_dropout_is_shared(few):
    def gradients_of(**changes):
        params = {**default.defaults, **FIXED, "alpha": 100.0, "beta": 100.0, **changes}
        return gradients(Ear(few, params, Streams(0, 0), CPU))[1]

    assert_close(gradients_of(unchanged="skip"), gradients_of(unchanged="keep"))
    separate = {"shared_dropout": False}
    with pytest.raises(AssertionError):
        assert_close(gradients_of(unchanged="skip", **separate), gradients_of(unchanged="keep", **separate))


def test_parameters_kept_by_the_canonical_form_change_the_run(few):
    changes = [
        {},
        {"alpha": 2.0},
        {"beta": 0.5},
        {"layer": 3},
        {"cap": 0.001},
        {"reduction": "sum"},
        {"attention": "tokens"},
        {"attention": "padded"},
        {"pull": "srpt"},
        {"push": "nt"},
        {"push": "nt", "sigma": 0.3},
        {"shared_dropout": False},
        {"shared_dropout": False, "unchanged": "keep"},
        {"head": "linear"},
        {"scale": 0.5},
        {"copies": 2},
    ]
    losses = [run(few, until=1, **each)[1][0]["train/loss/qel"] for each in changes]
    assert len(set(losses)) == len(changes)


def test_noise_is_on_the_copies_alone_in_units_of_the_embeddings_spread():
    torch.manual_seed(0)
    output = 3 * torch.randn(64, 20, 32) + 5
    output[:, 15:] = 1000.0  # padding, which does not count for the spread
    noise = (gaussian(output, 0.2, torch.arange(20).expand(64, -1) < 15) - output)[:, :15]
    assert torch.equal(noise[:32], torch.zeros(32, 15, 32))
    assert noise[32:].std().item() == pytest.approx(0.2 * 3, rel=0.03)
    assert noise[32:].mean().item() == pytest.approx(0.0, abs=0.02)


def test_the_noise_of_a_run_reaches_its_copies_alone(few, monkeypatch):
    method = made(without_dropout(few), push="nt", sigma=0.5)
    outputs, call = [], TwoStream.__call__
    monkeypatch.setattr(TwoStream, "__call__", lambda *given: outputs.append(call(*given)) or outputs[-1])
    rows = np.arange(8)
    sentences = method.originals(rows)
    for noise in (False, True):
        method.terms([*sentences, *sentences], rows, noise=noise)
    (plain, same), (kept, moved) = (output.halves("embeddings") for output in outputs)
    assert torch.equal(plain, same)
    assert torch.equal(plain, kept)
    assert (moved - plain).std().item() == pytest.approx(0.5 * plain.std().item(), rel=0.05)
    (logits, _), (kept, moved) = (each.halves("logits") for each in outputs)
    torch.testing.assert_close(kept, logits)
    assert not torch.allclose(moved, logits, atol=1e-3)


def test_a_classifier_that_predicts_one_class_reports_its_scores(few):
    metrics = made(few, lr=3.0, epochs=1).step(0)
    assert metrics["dev/predicted_classes/qel"] == 1
    assert metrics["dev/macro_f1/qel"] < 0.2


def test_an_exported_folder_predicts_what_the_run_does(trained, tmp_path):
    method, _ = trained
    (folder,) = method.export(request(demo()), tmp_path)
    assert folder == tmp_path / "model"
    assert (
        "seedwise" not in (folder / "config.json").read_text()
    )  # the attention implementation is not part of the model
    classify = pipeline("text-classification", model=str(folder))
    for language, dev in method.inputs.dev.items():
        texts = texts_of(language, "dev")[0][: len(dev)]
        labels = [answer["label"] for answer in classify(texts, truncation=True, max_length=64)]
        predicted = [method.inputs.labels[number] for number in method.learner.predict(dev)]
        assert labels == predicted
        assert len(set(labels)) > 1
    assert 'pipeline("text-classification", model="model")' in (folder / "README.md").read_text()


def test_a_head_that_nobody_could_load_is_not_exported(few, tmp_path):
    with pytest.raises(RequestError) as error:
        made(few, head="linear").export(request(demo()), tmp_path)
    assert str(error.value) == ("--model: transformers cannot load a model with head: linear. Use standard.")
    assert not list(tmp_path.iterdir())


def test_the_released_head_of_xlm_r_is_exported_as_the_standard_one(few, tmp_path):
    """One dropout more before it: without dropout the same function, so anyone can load it."""
    small = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    encoder = Encoder(XLMRobertaConfig(**small, intermediate_size=16, pad_token_id=1).to_dict(), {})
    model = skeleton(encoder, len(few.labels))
    set_head(model, "released")
    initialise(model, encoder, seed=3)
    inputs = dataclasses.replace(few, encoder=encoder)
    method = SimpleNamespace(options=EarOptions(head="released"), inputs=inputs, learner=SimpleNamespace(model=model))
    folder = export_model(method, request(demo()), tmp_path / "model")
    loaded = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    ids = torch.tensor([[0, 7, 9, 11, 2]])
    with torch.no_grad():
        torch.testing.assert_close(loaded(ids).logits, model.eval()(ids).logits)
    assert loaded.config.id2label == dict(enumerate(few.labels))


@pytest.fixture(scope="module")
def drawn(trained):
    return checked(trained[0].pictures())


def test_the_pictures_are_the_losses_beside_their_floor_and_the_words_of_every_target(trained, drawn):
    (method, _), (losses, words) = trained, drawn
    assert [losses["name"], words["name"]] == ["losses", "words"]
    for panel, name, sign in zip(losses["panels"][:2], ("push", "pull"), (-1, 1), strict=True):
        value, floor = panel["series"]
        assert [value["dashed"], floor["dashed"]] == [False, True]
        assert [[x, sign * y] for x, y in zip(value["x"], value["y"], strict=True)] == method.curves[name]
        assert value["x"] == list(range(24))
        assert min(value["y"]) > 0
        assert floor["x"] == [point[0] for point in method.curves[f"{name}_floor"]]
        assert max(map(abs, floor["y"])) <= ROUNDING
    titles = [panel["title"].partition(":")[0] for panel in words["panels"]]
    assert titles == ["qan, before", "qan, after", "qor, before", "qor, after"]
    assert words["columns"] == losses["columns"] == 2
    for panel in words["panels"]:
        target = panel["title"].partition(",")[0]
        assert [series["name"] for series in panel["series"]] == ["qel", target]
        for series in panel["series"]:
            sentences = method.inputs.parallel[series["name"]]
            assert len(series["x"]) == sum(min(WORDS, len(sentence)) for sentence in sentences)
            shown = [word for sentence in sentences[:2] for word in sentence[:WORDS]]
            assert series["labels"] == shown + [""] * (len(series["x"]) - len(shown))
    before, after = (words["panels"][number]["series"][0] for number in (0, 1))
    assert before["x"] != after["x"]


def test_the_floor_of_separate_dropout_is_drawn_as_it_was_measured(few):
    method, _ = run(dataclasses.replace(few, parallel={}), until=1, shared_dropout=False)
    (losses,) = checked(method.pictures())  # and no words without parallel sentences
    for panel, name, sign in zip(losses["panels"][:2], ("push", "pull"), (-1, 1), strict=True):
        floor = panel["series"][1]
        assert floor["y"] == [sign * point[1] for point in method.curves[f"{name}_floor"]]
        assert min(floor["y"]) > 0


def test_the_share_of_translations_found_is_that_of_the_encoder_itself(trained, drawn):
    method, _ = trained
    tokenizer, model = AutoTokenizer.from_pretrained(ENCODER), AutoModel.from_pretrained(ENCODER).eval()
    means = {}
    for language in ("qel", "qor"):
        vectors = []
        for words in method.inputs.parallel[language]:
            with torch.no_grad():
                vectors.append(model(**tokenizer(" ".join(words), return_tensors="pt")).last_hidden_state[0].mean(0))
        means[language] = torch.stack(vectors)
    cosines = cosine_similarity(means["qor"][:, None], means["qel"][None], dim=-1)
    share = sum(row.argmax().item() == number for number, row in enumerate(cosines)) / len(cosines)
    assert translations_found(means["qel"], means["qor"]) == pytest.approx(share)
    assert drawn[1]["panels"][2]["title"] == f"qor, before: {share:.0%} of the translations found"


@pytest.mark.parametrize(
    ("changes", "push", "pull"),
    [
        ({}, "mean embeddings", "attention maps of layer 2"),
        ({"pull": "srpt", "layer": 3}, "mean embeddings", "mean states of layer 3"),
        ({"push": "nt"}, "", "attention maps of layer 2"),  # noise is no loss
        ({"pull": "none"}, "mean embeddings", ""),
        ({"push": "none", "pull": "none"}, "", ""),
    ],
)
def test_a_target_that_a_run_does_not_have_is_not_drawn(few, changes, push, pull):
    pictures = checked(made(dataclasses.replace(few, parallel={}), **changes).pictures())
    titles = [panel["title"] for picture in pictures for panel in picture["panels"]]
    for name, words in (("(push)", push), ("(pull)", pull)):
        assert [words in title for title in titles if name in title] == [True] * bool(words)


@pytest.mark.parametrize(
    ("order", "share"), [([0, 1, 2, 3], 1.0), ([1, 0, 2, 3], 0.5), ([1, 2, 3, 0], 0.0), ([0, 1, 3, 2], 0.5)]
)
def test_translations_are_found_by_the_angle_alone(order, share):
    source = torch.eye(4)
    lengths = torch.tensor([[0.1], [1.0], [10.0], [100.0]])
    assert translations_found(source, source[order] * lengths) == share


def specification(**changes):
    content = demo()
    return content | {
        key: {**content[key], **value} if isinstance(value, dict) else value for key, value in changes.items()
    }


@pytest.fixture
def folder(tmp_path):
    """A copy of the world's task, whose files may be changed."""
    return shutil.copytree(FILES / "topics", tmp_path / "topics")


def test_the_search_reads_no_test_set_and_the_confirmation_no_test_set_of_a_pivot(folder):
    wanted = specification(task={"data": str(folder), "targets": ["qan"], "pivots": ["qor"]})
    for language in ("qel", "qan", "qor"):
        (folder / language / "test.tsv").rename(folder / language / "hidden.tsv")
    assert set(prepare(Ear, wanted).dev) == {"qel", "qan", "qor"}
    assert set(prepare(Ear, wanted).parallel) == {"qel", "qan"}
    with pytest.raises(RequestError, match=r"test\.tsv"):
        prepare_test(Ear, wanted)
    for language in ("qel", "qan"):
        (folder / language / "hidden.tsv").rename(folder / language / "test.tsv")
    assert {name: len(data) for name, data in prepare_test(Ear, wanted).items()} == {"qel": 400, "qan": 400}


def test_a_copy_of_dev_as_the_test_set_gets_the_scores_of_dev(trained, folder):
    method, metrics = trained
    for language in ("qel", "qan", "qor"):
        lines = (folder / language / "dev.tsv").read_text().splitlines(keepends=True)
        (folder / language / "test.tsv").write_text("".join(lines[:31]))
    tests = prepare_test(Ear, specification(task={"data": str(folder)}))
    before = {name: value.clone() for name, value in method.learner.model.state_dict().items()}
    tested = method.test(tests)
    assert tested == {f"test/{name[4:]}": value for name, value in metrics[-1].items() if name.startswith("dev/")}
    assert method.test(tests) == tested
    assert all(torch.equal(value, before[name]) for name, value in method.learner.model.state_dict().items())


def test_a_test_row_without_a_label_is_an_error_and_never_a_class(folder):
    """The paper's readers give such rows a default class, and their accuracy means nothing (E8)."""
    path = folder / "qan" / "test.tsv"
    lines = path.read_text().splitlines()
    number, _, text = lines[5].split("\t")
    path.write_text("\n".join([*lines[:5], f"{number}\t\t{text}", *lines[6:]]) + "\n")
    with pytest.raises(RequestError) as error:
        prepare_test(Ear, specification(task={"data": str(folder)}))
    assert str(error.value) == f"task.data: {path} row 5 has no label. Correct it, or remove the row."


def test_a_layer_that_the_encoder_does_not_have_is_refused_with_those_it_has():
    for space in ({"layer": [1, 12]}, {"layer": {"choices": [2, 12]}}, {"layer": 12}):
        with pytest.raises(RequestError) as error:
            prepare(Ear, specification(space=space))
        assert str(error.value) == (
            "space.layer: 12, but world:multilingual-encoder has 4 layers. Write space.layer: [1, 4], or fewer."
        )


@pytest.mark.parametrize("params", [{"layer": 6}, {"alpha": 1.0}])
def test_a_layer_of_an_enqueued_configuration_counts_its_default_too(params):
    with pytest.raises(RequestError) as error:
        prepare(Ear, specification(enqueue=[{"push": "none", "pull": "none"}, params]))
    assert str(error.value) == ("enqueue.1.layer: 6, but world:multilingual-encoder has 4 layers. Write 4 or less.")


def test_a_space_without_a_pull_asks_for_no_layer():
    whole = {"pull": "none", "layer": [1, 12]}
    assert prepare(Ear, specification(space=whole, enqueue=[{"push": "none"}])).labels == world().labels


def test_a_dictionary_of_another_language_is_refused(tmp_path):
    path = tmp_path / "english.json"
    path.write_text(json.dumps({"good": ["fine", "nice"], "bad": []}))
    with pytest.raises(RequestError) as error:
        prepare(Ear, specification(inputs={"synonyms": str(path)}))
    assert str(error.value) == (
        f"inputs.synonyms: {path} has no synonym for any word of the training set. "
        "Name a dictionary of the source language."
    )


def test_pairs_of_sentences_are_classified_as_one_input(tmp_path):
    """Each sentence beside the next one, classified by the first; the pair travels to the exported model and back."""
    for language, split in (("qel", "train"), ("qel", "dev"), ("qan", "dev"), ("qel", "test"), ("qan", "test")):
        texts, classes = texts_of(language, split)
        with open(tmp_path / f"{language}-{split}.csv", "w", newline="") as file:
            rows = zip(texts[:FEW], texts[1:], classes, strict=False)
            csv.writer(file).writerows([("text", "b", "label"), *rows])
    pairs = {"name": "text", "data": f"{tmp_path}/{{language}}-{{split}}.csv", "second": "b", "targets": ["qan"]}
    made_of = from_dict(specification(task=pairs)).as_dict()
    inputs = prepare(Ear, made_of)
    assert (len(inputs.train), inputs.parallel, set(inputs.dev)) == (FEW, {}, {"qel", "qan"})
    method, (metrics,) = run(inputs, until=1)
    assert 0 < metrics["train/changed_share/qel"] < 1
    assert metrics["train/push/qel"] < 0 < metrics["train/pull/qel"]
    (folder,) = method.export(request(made_of), tmp_path)
    assert '{"text": first, "text_pair": second}' in (folder / "README.md").read_text()
    texts, _ = texts_of("qan", "dev")
    batch = AutoTokenizer.from_pretrained(folder)(texts[:FEW], texts[1 : FEW + 1], padding=True, return_tensors="pt")
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    np.testing.assert_array_equal(inputs.dev["qan"].ids, batch["input_ids"])
    with torch.no_grad():
        np.testing.assert_array_equal(model(**batch).logits.argmax(-1), method.learner.predict(inputs.dev["qan"]))


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@pytest.mark.parametrize("method", [Ear, Ear.baselines["adv"]])
def test_low_precision_gives_the_same_losses_whatever_is_recomputed(few, method, precision):
    own = {"layer": 2} if method is Ear else {}
    losses = []
    for recomputed in (False, True, "selective"):
        params = {"lr": 1e-4, "epochs": 2, "batch_size": BATCH, "precision": precision, **own}
        run_of = method(few, {**params, "gradient_checkpointing": recomputed}, Streams(0, 0), CPU)
        losses.append(run_of.step(0)["train/loss/qel"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
    assert losses[0] == pytest.approx(losses[2], rel=1e-3)


def test_sentences_that_the_source_repeats_are_shown_once():
    texts = {"aa": ["one", "one", "two", "three"], "bb": ["eins", "un", "zwei", "drei"]}
    reader = SimpleNamespace(texts=lambda language, split: ([(text,) for text in texts[language]], None))
    assert parallel_words(reader, ["aa", "bb"]) == {
        "aa": [["one"], ["two"], ["three"]],
        "bb": [["eins"], ["zwei"], ["drei"]],
    }
