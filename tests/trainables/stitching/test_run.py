"""A stitching run on the embedded world, without Ray."""

import dataclasses

import numpy as np
import pytest
import torch

from seedwise.search.spec.load import read
from seedwise.spaces.stitching import default
from seedwise.trainables.stitching.baselines import BASELINES
from seedwise.trainables.stitching.trainable import Stitching
from seedwise.trainables.streams import Streams
from tests.prepared import prepare

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def inputs():
    return prepare(Stitching, read("demo").as_dict())


@pytest.fixture(scope="module")
def one_target(inputs):
    return prepare(
        Stitching,
        read(
            "demo",
            [
                "task.targets=[qan]",
                "inputs.vectors={qan: 'world:vectors/qan.vec.gz'}",
                "inputs.lexicons={qan: 'world:lexicons/qel-qan.txt'}",
            ],
        ).as_dict(),
    )


def params(**changes):
    return default.canonical({**default.defaults, "k": 5, "lr": 2e-3, "epochs": 3, **changes})


def run(inputs, replicate=0, stop_after=None, **changes):
    method = Stitching(inputs, params(**changes), Streams(0, replicate), CPU)
    return method, [method.step(number) for number in range(stop_after or method.steps)]


@pytest.fixture(scope="module")
def straight(one_target):
    return run(one_target)[1]


def test_the_target_learns_from_the_source_alone(one_target):
    _, metrics = run(one_target, epochs=6, k=5, weighting="softmax", tau=0.1)
    labels = one_target.targets["qan"].dev.labels
    constant = 2 * np.bincount(labels).max() / (len(labels) + np.bincount(labels).max()) / len(one_target.labels)
    assert metrics[-1]["dev/macro_f1/qan"] > 4 * constant
    assert metrics[-1]["dev/macro_f1/qel"] > metrics[-1]["dev/macro_f1/qan"]
    assert metrics[-1]["train/loss/qel"] < 0.5 * metrics[0]["train/loss/qel"]


def test_a_run_depends_on_its_streams_alone(one_target, straight):
    torch.rand(100)
    np.random.rand(100)  # noqa: NPY002 (the global generator must not matter)
    assert run(one_target)[1] == straight
    assert run(one_target, replicate=1)[1] != straight


def test_another_target_changes_nothing_for_the_first(inputs, straight):
    _, both = run(inputs)
    for alone, together in zip(straight, both, strict=True):
        names = [name for name in alone if name.endswith("/qan")]
        assert "dev/macro_f1/qan" in names
        assert {name: together[name] for name in names} == {name: alone[name] for name in names}
        assert together["dev/macro_f1/qel:qan"] == alone["dev/macro_f1/qel"]


def test_continuing_from_a_checkpoint_is_bit_identical(one_target, straight, tmp_path):
    half, first = run(one_target, stop_after=2)
    assert first == straight[:2]
    half.save(tmp_path)
    other = Stitching(one_target, params(), Streams(0, 0), CPU)
    other.load(tmp_path)
    assert other.step(2) == straight[2]


def test_the_target_is_scored_as_if_the_models_table_were_swapped(one_target):
    """Compared with really swapping the table, as in the paper; the source model stays as it was."""
    method, _ = run(one_target, stop_after=1)
    pair = method.pairs["qan"]
    model = pair.learner.model
    before = model.get_input_embeddings()
    weights = before.weight.detach().clone()
    predicted = pair.learner.predict(pair.target.dev, table=pair.table(pair.words))
    assert torch.equal(before.weight, weights)
    swapped = torch.nn.Embedding.from_pretrained(torch.cat([weights[pair.specials], pair.words]))
    model.set_input_embeddings(swapped)
    np.testing.assert_array_equal(pair.learner.predict(pair.target.dev), predicted)


def test_frozen_embeddings_make_tuned_and_pretrained_specials_equal(one_target):
    """The equality behind the canonical form: it writes `pretrained` for both."""
    scores = []
    for specials in ("tuned", "pretrained"):
        options = {**params(freeze_embeddings=True), "specials": specials}
        method = Stitching(one_target, options, Streams(0, 0), CPU)
        scores.append([method.step(number) for number in range(2)])
    assert scores[0] == scores[1]


def test_a_classifier_that_predicts_one_class_reports_its_scores(one_target):
    metrics = Stitching(one_target, params(lr=3.0, epochs=1), Streams(0, 0), CPU).step(0)
    assert metrics["dev/predicted_classes/qel"] == 1
    assert metrics["dev/macro_f1/qel"] < 0.1


def test_the_last_epoch_reports_what_training_does_not_change(straight, one_target):
    target = one_target.targets["qan"]
    assert straight[-1]["dev/unknown_share/qan"] == target.unknown_share
    unknown = target.dev.ids == one_target.specials.tolist().index(1)  # [UNK] of the world's encoder
    words = target.dev.lengths.sum() - 2 * len(target.dev)
    assert target.unknown_share == pytest.approx(unknown.sum() / words)
    shares = {name: value for name, value in straight[-1].items() if name.startswith("dev/share_of_")}
    assert sum(value for name, value in shares.items() if name.endswith("/qan")) == pytest.approx(1)
    assert not any("share" in name for name in straight[0])


def test_configurations_with_equal_tables_have_one_fingerprint(one_target):
    """Sparse weightings at a low temperature use a few anchors of each word, whether 60 or 200 are offered."""

    def mark(replicate=0, **changes):
        return run(one_target, replicate, stop_after=1, epochs=1, **changes)[0].fingerprint(None)

    few, many = ({"k": k, "weighting": "sparsemax", "tau": 0.05} for k in (60, 200))
    assert mark(**few) == mark(**many)
    assert mark(**{**many, "weighting": "entmax", "exponent": 2.0}) == mark(**few)  # that is sparsemax
    sparser, offered_more = (mark(**{**params, "weighting": "entmax", "exponent": 2.8}) for params in (few, many))
    assert sparser == offered_more != mark(**few)
    assert len({mark(**few), mark(**few, lr=1e-3), mark(1, **few), mark(k=60, weighting="softmax", tau=0.05)}) == 4


def test_equal_fingerprints_mean_equal_scores(one_target):
    few, many = (run(one_target, k=k, weighting="sparsemax", tau=0.05, epochs=1, stop_after=1)[1][0] for k in (60, 200))
    assert {name: few[name] for name in few if "ties" not in name} == {
        name: many[name] for name in many if "ties" not in name
    }


@pytest.mark.filterwarnings("error")
def test_inputs_from_the_object_store_which_are_read_only_give_no_warning(one_target):
    inputs = dataclasses.replace(one_target, specials=one_target.specials.copy())
    inputs.specials.flags.writeable = False
    Stitching(inputs, params(), Streams(0, 0), CPU)
    BASELINES["ls"](inputs, {"epochs": 1}, Streams(0, 0), CPU).table("qan", inputs.targets["qan"].vectors)
