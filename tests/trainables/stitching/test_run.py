"""A stitching run on the embedded world, without Ray."""

import dataclasses

import numpy as np
import pytest
import torch

from search.specification import read
from spaces.stitching import default
from trainables.base import RunFailed
from trainables.stitching.options import StitchingOptions
from trainables.stitching.pair import tables
from trainables.stitching.trainable import Stitching
from trainables.streams import Streams

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def inputs():
    return Stitching.prepare(read("demo").as_dict())


@pytest.fixture(scope="module")
def one_target(inputs):
    return Stitching.prepare(
        read(
            "demo",
            [
                "task.targets=[qan]",
                "inputs.vectors={qan: 'world:vectors/qan.vec.gz'}",
                "inputs.lexicons={qan: 'world:lexicons/qel-qan.txt'}",
            ],
        ).as_dict()
    )


def params(**changes):
    return default.canonical({**default.defaults, "k": 5, "lr": 2e-3, "epochs": 3, **changes})


def run(inputs, replicate=0, stop_after=None, **changes):
    method = Stitching(inputs, params(**changes), Streams(0, replicate), CPU)
    return method, [method.epoch(number) for number in range(stop_after or method.epochs)]


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


def test_a_run_is_its_streams_and_nothing_else(one_target, straight):
    torch.rand(100)
    np.random.rand(100)  # noqa: NPY002 (the global generator is what must not matter)
    assert run(one_target)[1] == straight
    assert run(one_target, replicate=1)[1] != straight


def test_another_target_changes_nothing_for_the_first(inputs, straight):
    _, both = run(inputs)
    names = [name for name in straight[-1] if name.endswith("/qan")]
    assert len(names) == 5
    for one, two in zip(straight, both, strict=True):
        assert {name: two[name] for name in names} == {name: one[name] for name in names}
        assert two["dev/macro_f1/qel:qan"] == one["dev/macro_f1/qel"]


def test_going_on_from_a_checkpoint_is_bit_identical(one_target, straight, tmp_path):
    half, first = run(one_target, stop_after=2)
    assert first == straight[:2]
    half.save(tmp_path)
    other = Stitching(one_target, params(), Streams(0, 0), CPU)
    other.load(tmp_path)
    assert other.epoch(2) == straight[2]


def test_scoring_the_target_is_swapping_the_table_of_the_model(one_target):
    """Written a second time with the table really swapped, as the paper says it; the source model is left as it was."""
    method, _ = run(one_target, stop_after=1)
    pair = method.pairs["qan"]
    model = pair.learner.model
    before = model.get_input_embeddings()
    weights = before.weight.detach().clone()
    predicted = pair.predict_target(pair.target.dev, pair.words)
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
        scores.append([method.epoch(number) for number in range(2)])
    assert scores[0] == scores[1]


def test_a_classifier_that_predicts_one_class_is_a_failure(one_target):
    method = Stitching(one_target, params(lr=3.0, epochs=1), Streams(0, 0), CPU)
    with pytest.raises(RunFailed) as found:
        method.epoch(0)
    assert found.value.kind == "collapsed"
    assert found.value.metrics["dev/macro_f1/qel"] < 0.1


@pytest.fixture(scope="module")
def pair(one_target):
    original = torch.from_numpy(np.array(one_target.encoder.weights["embeddings.word_embeddings.weight"]))
    return original, torch.from_numpy(one_target.specials), one_target.targets["qan"]


def both(original, specials, target, options):
    """F^s, F^t of the words of dev, and the number of anchors."""
    source, stitched, count = tables(original, specials, target, options, 0)
    return source, stitched(target.vectors[: target.used]), count


def made(pair, **changes):
    return both(*pair, StitchingOptions(**changes))


def test_anchors_are_their_own_nearest_neighbour_in_the_source_table(pair):
    original, _, target = pair
    source, words, count = made(pair, k=1)
    pieces = torch.from_numpy(np.unique(target.pairs[:, 0]))
    torch.testing.assert_close(source[pieces], original[pieces])
    assert count == len(target.pairs)
    assert words.shape == (target.used, original.shape[1])
    anchored = [(piece, row) for piece, row in target.pairs if row < target.used]
    for piece, row in anchored:  # a target anchor takes the source vector of its own translation
        torch.testing.assert_close(words[row], original[piece])


def test_special_tokens_keep_their_rows_unless_reconstructed(pair):
    original, specials, _ = pair
    assert torch.equal(made(pair, k=5)[0][specials], original[specials])
    assert not torch.equal(made(pair, k=5, specials="reconstruct")[0][specials], original[specials])


def test_renorm_gives_every_word_the_mean_norm_of_the_source(pair):
    original, specials, _ = pair
    source, words, _ = made(pair, k=20, renorm=True)
    norm = original.norm(dim=1).mean()
    torch.testing.assert_close(words.norm(dim=1), norm.expand(len(words)))
    others = torch.ones(len(original), dtype=bool)
    others[specials] = False
    torch.testing.assert_close(source[others].norm(dim=1), norm.expand(int(others.sum())))


def test_merging_anchors_that_do_not_repeat_changes_nothing(pair):
    original, specials, target = pair
    _, first = np.unique(target.pairs[:, 0], return_index=True)  # in the order in which merging puts them
    single = dataclasses.replace(target, pairs=target.pairs[first])
    for centre in (False, True):
        kept, merged = (
            both(original, specials, single, StitchingOptions(k=5, centre=centre, merge_anchors=merge))
            for merge in (False, True)
        )
        torch.testing.assert_close(kept, merged)


def test_centring_and_fewer_anchors_change_the_tables(pair):
    _, words, count = made(pair, k=5)
    assert not torch.equal(made(pair, k=5, centre=True)[1], words)
    assert made(pair, k=5, anchors=0.5)[2] == round(count / 2)
    merged = made(pair, k=5, merge_anchors=True)[2]
    assert merged == len(np.unique(pair[2].pairs[:, 0]))
    assert merged < count


def test_k_beyond_the_anchors_is_all_of_them(pair):
    torch.testing.assert_close(made(pair, k="all")[1], made(pair, k=10_000)[1])


def test_rows_without_a_direction_are_not_stitched(pair):
    original, specials, target = pair
    original = original.clone()
    free = next(row for row in range(len(original)) if row not in set(target.pairs[:, 0]) | set(specials.tolist()))
    original[free] = 0
    source, stitched, _ = tables(original, specials, target, StitchingOptions(k=5), 0)
    assert not source[free].any()
    assert torch.isfinite(source).all()
    pieces = torch.from_numpy(target.pairs[:, 0].copy())
    torch.testing.assert_close(stitched(np.zeros_like(target.vectors[:1]))[0], original[pieces].mean(0))
