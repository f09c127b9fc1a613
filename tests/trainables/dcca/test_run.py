"""A run of continued pretraining on the embedded world, without Ray."""

import dataclasses
import functools

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

from seedwise.errors import RequestError
from seedwise.search.spec.load import read
from seedwise.trainables.dcca.pictures import losses
from seedwise.trainables.dcca.trainable import Dcca, Masked, Untouched
from seedwise.trainables.ear.fine_tuning import FineTuning
from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.pictures import checked
from seedwise.trainables.streams import Streams
from seedwise.trainables.training.encoder import Encoder, load_encoder
from seedwise.trainables.world import FILES
from tests import tiny
from tests.prepared import prepare, prepare_test, request

CPU = torch.device("cpu")
TUNED = {"tune_epochs": 2, "tune_lr": 2e-3, "tune_batch_size": 8}
SMALL = {"steps": 10, "words": 128, "directions": 32, "blocks": 4, "block_batch": 4, "lr": 1e-3, **TUNED}


@functools.cache
def demo(*changes):
    """Without baselines, which no run here needs: with them reading takes three times as long."""
    return read("demo-dcca", ["baselines={}", *changes]).as_dict()


@functools.cache
def world():
    return prepare(Dcca, demo())


@functools.cache
def cut():
    """The world with few labelled sentences: no test here needs to learn from them."""
    task, train = world().task, world().task.train
    few = {"sentences": train.sentences[:48], "labels": train.labels[:48], "lengths": train.lengths[:48]}
    dev = {name: Encoded(data.ids[:12], data.lengths[:12], data.labels[:12]) for name, data in task.dev.items()}
    return dataclasses.replace(
        world(), task=dataclasses.replace(task, train=dataclasses.replace(train, **few), dev=dev)
    )


def made(method=Dcca, replicate=0, inputs=None, **params):
    torch.set_num_threads(1)
    return method(inputs or cut(), params, Streams(0, replicate), CPU)


def finished(run, start=0):
    return [run.step(number) for number in range(start, run.steps)][-1]


@functools.cache
def trained():
    run = made(**SMALL, weight=10.0)
    return run, finished(run)


def test_equal_replicates_give_equal_scores_and_different_replicates_different_scores():
    _, metrics = trained()
    assert finished(made(**SMALL, weight=10.0)) == metrics
    other = finished(made(**SMALL, weight=10.0, replicate=1))
    assert other["dev/correlation/qan"] != metrics["dev/correlation/qan"]


@pytest.mark.parametrize("stop", [3, 10, 11])  # during pretraining, between pretraining and tuning, during tuning
def test_a_run_continues_from_a_checkpoint_as_if_never_interrupted(tmp_path, stop):
    run, metrics = trained()
    assert (run.segments, run.steps) == (10, 12)
    first = made(**SMALL, weight=10.0)
    for number in range(stop):
        first.step(number)
    first.save(tmp_path)
    second = made(**SMALL, weight=10.0)
    second.load(tmp_path)
    assert finished(second, start=stop) == metrics
    assert second.curves == run.curves


def test_alignment_raises_the_correlation_of_words_it_never_saw_and_masked_words_alone_do_not():
    options = {**SMALL, "steps": 40, "tune_epochs": 0}
    aligned = finished(made(**options, weight=10.0))
    alone = finished(
        made(Masked, **{key: value for key, value in options.items() if key not in ("words", "directions")})
    )
    untouched, gains = finished(made(Untouched, tune_epochs=0)), []
    for language in ("qel", "qan", "qor"):
        name = f"dev/correlation/{language}"
        assert aligned[name] > max(alone[name], untouched[name]) + 0.01
        gains.append(aligned[name] - max(alone[name], untouched[name]))
    assert np.mean(gains) > 0.02
    losses = [[run[f"dev/mlm_loss/{language}"] for language in ("qel", "qan", "qor")] for run in (alone, untouched)]
    assert np.mean(losses[0]) < np.mean(losses[1]) - 0.1
    assert not any(name.startswith("dev/macro_f1") for name in aligned)


def test_baselines_equal_dcca_without_alignment_and_plain_fine_tuning():
    masked = {key: SMALL[key] for key in ("steps", "blocks", "block_batch", "lr", *TUNED)}
    assert finished(made(Masked, **masked)) == finished(made(**SMALL, alignment="none"))
    # The baseline `untouched` equals EAR's plain fine-tuning of the encoder.
    encoder, _ = load_encoder("world:multilingual-encoder")
    inputs = dataclasses.replace(cut().task, encoder=Encoder(encoder.config, encoder.weights))
    plain = FineTuning(inputs, {"epochs": 2, "lr": 2e-3, "batch_size": 8}, Streams(0, 0), CPU)
    theirs = [plain.step(number) for number in range(2)][-1]
    ours = finished(made(Untouched, **TUNED))
    assert {name: ours[name] for name in theirs} == theirs


def test_the_losses_are_drawn_over_all_steps():
    run, _ = trained()
    (picture,) = checked(run.pictures())
    assert [panel["title"] for panel in picture["panels"]] == [
        "hidden words",
        "isolated words and their static vectors",
    ]
    for panel, name in zip(picture["panels"], ("mlm_loss", "alignment"), strict=True):
        (series,) = panel["series"]
        assert series["x"] == list(range(10))
        assert series["y"] == [value for _, value in run.curves[name]]
    long = [[float(step), 2.0 * step] for step in range(1000)]
    (series,) = losses({"mlm_loss": long})[0]["panels"][0]["series"]
    assert (len(series["x"]), series["x"][0], series["y"][-1]) == (200, 2.0, 2 * 997.0)
    assert made(Untouched, **TUNED).pictures() == []


def test_frozen_parts_stay_as_they_are():
    run = made(**{**SMALL, "steps": 2, "tune_epochs": 0}, freeze_embeddings=True, freeze_layers=2)
    before = {name: parameter.detach().clone() for name, parameter in run.model.named_parameters()}
    finished(run)
    moved = {name for name, parameter in run.model.named_parameters() if not torch.equal(parameter, before[name])}
    assert not [name for name in moved if "word_embeddings" in name or "layer.0." in name or "layer.1." in name]
    assert any("layer.2." in name for name in moved)
    assert any("layer.3." in name for name in moved)


def test_the_exported_encoder_is_the_one_that_was_measured_and_another_method_loads_it(tmp_path):
    run, _ = trained()
    (folder,) = run.export(request(demo()), tmp_path)
    theirs, tokenizer = AutoModelForMaskedLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    batch = tokenizer(["dai se ba"], return_tensors="pt")
    torch.testing.assert_close(theirs(**batch).logits, run.model.eval()(**batch).logits, rtol=0, atol=1e-6)
    loaded, _ = load_encoder(str(folder))
    np.testing.assert_array_equal(
        loaded.weights["encoder.layer.3.output.dense.weight"],
        run.encoder.weights["encoder.layer.3.output.dense.weight"],
    )
    states = AutoModel.from_pretrained(folder)(**batch).last_hidden_state
    torch.testing.assert_close(states, run.model.base_model(**batch).last_hidden_state, rtol=0, atol=1e-6)
    before, _ = load_encoder("world:multilingual-encoder")
    assert (
        loaded.weights["embeddings.word_embeddings.weight"] != before.weights["embeddings.word_embeddings.weight"]
    ).any()


def test_test_sets_are_read_for_the_confirmation_alone(tmp_path):
    lines = [f"{word} {number}" for number, word in enumerate(["dai", "se", "ba"] * 4)]
    for side in ("qan", "qel"):
        (tmp_path / side).write_text("\n".join(lines) + "\n")
    parallel = f"inputs.parallel={{qan: ['{tmp_path / 'qan'}', '{tmp_path / 'qel'}']}}"
    tests = prepare_test(Dcca, demo(parallel))
    assert [len(side) for side in tests.parallel["qan"]] == [12, 12]
    run, _ = trained()
    metrics = run.test(tests)
    assert metrics["test/retrieval/qan"] == 1.0  # the same sentences on both sides
    assert {name for name in metrics if name.startswith("test/macro_f1")} == {
        f"test/macro_f1/{language}" for language in ("qel", "qan", "qor")
    }
    # If retrieval selects, it uses every other pair, and the rest is for the test.
    chosen = (
        "select={metric: retrieval, on: target_dev}",
        "task.targets=[qan]",
        "inputs.lexicons={}",
        "inputs.align=off",
    )
    selected = demo(parallel, *chosen)
    assert len(prepare_test(Dcca, selected).parallel["qan"][0]) == 6
    (tmp_path / "qel").write_text("one line\n")
    with pytest.raises(RequestError, match=r"^inputs\.parallel\.qan: .* has 12 lines and .* 1: line n of one file"):
        prepare_test(Dcca, demo(parallel))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("space.layer=[1, 6]", r"^space\.layer: 6, but world:multilingual-encoder has 4 layers\. Write 4 or less\."),
        ("space.alignment=[dcca, mse]", r"^space: mse compares .* has 50 dimensions and the encoder 64\. Write space"),
        ("baselines=[mse]", r"^baselines\.mse: mse compares .* Leave baselines\.mse out"),
        ("space.words=4096", r"^space\.words: 4096, but inputs\.static\.own has \d+\. Write fewer"),
        ("space.directions=60", r"^space\.directions: 60, but inputs\.static\.own has 50 dimensions"),
        ("inputs.score_layer=9", r"^inputs\.score_layer: 9, but the encoder has 4\."),
        ("space.blocks=5000", r"^space\.blocks: 5000, but the text has \d+\."),
        ("inputs.vector_rows=100", r"^inputs\.static\.own\.q\w+: \d words are held out for the correlation score"),
        ("inputs.probes={qan: world:lexicons/qel-qan.txt}", r"^inputs\.probes\.qan: all its words are in inputs\.lex"),
    ],
)
def test_inputs_that_do_not_fit_are_refused_before_anything_starts(tmp_path, change, message):
    tiny.topics(tmp_path / "topics")
    small = [f"task.data={tmp_path / 'topics'}", f"inputs.text={tiny.text(tmp_path / 'text')}"]
    with pytest.raises(RequestError, match=message):
        prepare(Dcca, demo(*small, change))


def test_inputs_of_the_world_have_all_languages_and_unit_vectors():
    inputs = world()
    assert inputs.languages == ("qel", "qan", "qor")
    assert set(inputs.dev) == set(inputs.static["own"].measured) == set(inputs.languages)
    assert inputs.static["own"].table.shape[1] == 50
    np.testing.assert_allclose(np.linalg.norm(inputs.static["own"].table, axis=1), 1, rtol=1e-5)
    assert (FILES / "text" / "qel.txt.gz").is_file()
