"""Test sets, which only the confirmation reads, and pivots, which only the search reads."""

import dataclasses
import shutil

import numpy as np
import pytest
import torch

from seedwise.errors import RequestError
from seedwise.search.spec.load import read
from seedwise.spaces.stitching import default
from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.stitching.trainable import Stitching
from seedwise.trainables.streams import STREAMS, Streams
from seedwise.trainables.tasks.classification import macro_f1
from seedwise.trainables.world import FILES
from tests.prepared import prepare, prepare_test

CPU = torch.device("cpu")
OPTIONS = {
    "plain": {},
    "all the rest": {"centre": True, "renorm": True, "merge_anchors": True, "anchors": 0.5, "specials": "reconstruct"},
}


def params(**changes):
    return default.canonical({**default.defaults, "k": 5, "lr": 2e-3, "epochs": 1, **changes})


def specification(data, targets=("qan",), pivots=None):
    made = read("demo").as_dict()
    made["task"] |= {"data": str(data), "targets": list(targets)}
    if pivots is not None:
        made["task"]["pivots"] = pivots
    return made


def trained(inputs, **changes):
    run = Stitching(inputs, params(**changes), Streams(0, 0), CPU)
    return run, run.step(0)


@pytest.fixture
def folder(tmp_path):
    """A copy of the world's task, whose files may be changed."""
    return shutil.copytree(FILES / "topics", tmp_path / "topics")


@pytest.fixture(scope="module")
def world():
    return prepare(Stitching, specification("world:topics")), prepare_test(Stitching, specification("world:topics"))


@pytest.mark.parametrize("options", OPTIONS)
def test_a_copy_of_dev_as_the_test_set_gets_the_scores_of_dev(folder, options):
    for language in ("qel", "qan", "qor"):
        shutil.copy(folder / language / "dev.tsv", folder / language / "test.tsv")
    both = specification(folder, ["qan", "qor"])
    run, metrics = trained(prepare(Stitching, both), **OPTIONS[options])
    tested = run.test(prepare_test(Stitching, both))
    assert tested == {f"test/{name[4:]}": value for name, value in metrics.items() if name.startswith("dev/")}
    assert {"test/macro_f1/qan", "test/accuracy/qor", "test/macro_f1/qel", "test/macro_f1/qel:qan"} <= set(tested)


def test_the_search_reads_no_test_set_and_the_confirmation_no_test_set_of_a_pivot(folder):
    wanted = specification(folder, ["qan"], ["qor"])
    expected = prepare_test(Stitching, wanted)
    for language in ("qel", "qan", "qor"):
        (folder / language / "test.tsv").rename(folder / language / "hidden.tsv")
    assert set(prepare(Stitching, wanted).targets) == {"qan", "qor"}
    with pytest.raises(RequestError, match=r"test\.tsv"):
        prepare_test(Stitching, wanted)
    for language in ("qel", "qan"):
        (folder / language / "hidden.tsv").rename(folder / language / "test.tsv")
    tests = prepare_test(Stitching, wanted)
    assert set(tests.targets) == {"qan"}
    np.testing.assert_array_equal(tests.targets["qan"].data.ids, expected.targets["qan"].data.ids)


def test_words_of_the_test_set_alone_get_the_rows_that_dev_would_give_them(world):
    """Scored again with the table of dev, extended by the words of the test set; ids are shifted accordingly."""
    inputs, tests = world
    test, target, specials = tests.targets["qan"], inputs.targets["qan"], len(inputs.specials)
    pairs = target.lexicon
    assert set(map(bytes, test.vectors)) - set(map(bytes, target.vectors))  # words that are new to the search
    wider = dataclasses.replace(
        target,
        vectors=np.concatenate([target.vectors[: target.used], test.vectors, target.vectors[target.used :]]),
        used=target.used + len(test.vectors),
        lexicon=dataclasses.replace(pairs, target=pairs.target + (pairs.target >= target.used) * len(test.vectors)),
        dev=dataclasses.replace(test.data, ids=test.data.ids + target.used * (test.data.ids >= specials)),
    )
    run, _ = trained(inputs)
    _, of_wider = trained(dataclasses.replace(inputs, targets={"qan": wider}))
    tested = run.test(tests)
    for name in ("macro_f1", "accuracy"):
        assert tested[f"test/{name}/qan"] == pytest.approx(of_wider[f"dev/{name}/qan"])
    source = run.pairs["qan"].learner.predict(tests.source)
    assert tested["test/macro_f1/qel"] == macro_f1(tests.source.labels, source, len(inputs.labels))


def test_testing_twice_gives_the_same_scores_and_changes_nothing(world):
    inputs, tests = world
    run, _ = trained(inputs)
    before = {name: value.clone() for name, value in run.pairs["qan"].learner.model.state_dict().items()}
    assert run.test(tests) == run.test(tests)
    assert all(torch.equal(value, before[name]) for name, value in run.pairs["qan"].learner.model.state_dict().items())


def test_a_pivot_is_scored_on_dev_as_if_it_were_a_target_and_has_no_test(world):
    run, with_pivot = trained(prepare(Stitching, specification("world:topics", ["qan"], ["qor"])))
    _, as_target = trained(prepare(Stitching, specification("world:topics", ["qan", "qor"], [])))
    assert with_pivot == as_target
    assert "dev/macro_f1/qor" in with_pivot
    tested = run.test(world[1])
    assert "test/macro_f1/qan" in tested
    assert not any(name.endswith("/qor") for name in tested)


@pytest.mark.parametrize(("amount", "drawn"), [("all", False), (0.5, True)])
def test_streams_used_are_those_that_change_a_run(world, amount, drawn):
    used = Stitching.streams_used(params(anchors=amount))
    assert used == ("head", "order", "dropout", "anchors")[: 3 + drawn]
    train = Encoded(*(part[:64] for part in vars(world[0].train).values() if part is not None))
    few = dataclasses.replace(world[0], train=train)
    reference = trained(few, anchors=amount, epochs=2)[
        1
    ]  # stopped after the first epoch: too few examples to learn from
    for stream in STREAMS:
        run = Stitching(few, params(anchors=amount, epochs=2), Streams(0, 1, stream), CPU)
        assert (run.step(0) != reference) == (stream in used), stream
