"""Methods in a landscape, on the embedded world: training data, initialisation, and scores at the trained models."""

import contextlib
import dataclasses
import functools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seedwise.search.decide.landscape_plan import Plan
from seedwise.search.studies.landscape_request import landscape_specification
from seedwise.trainables.ear.trainable import Ear
from seedwise.trainables.landscape.jobs import (
    ALL,
    BOTH,
    ENCODER,
    HEAD,
    INITIAL,
    LINE,
    PLANE,
    SEEDS,
    SOURCE,
    TARGET,
    TRAIN,
    Job,
)
from seedwise.trainables.landscape.subjects import LandscapeInputs, epoch_rows
from seedwise.trainables.landscape.trainable import Landscape, Points, Trained
from seedwise.trainables.method import RunFailed
from seedwise.trainables.stitching.landscape import joined_ids, shifted
from seedwise.trainables.stitching.trainable import Stitching
from seedwise.trainables.streams import Streams
from seedwise.trainables.world import FILES
from tests.prepared import prepare

CPU = torch.device("cpu")
TRAIN_EXAMPLES, DEV_EXAMPLES = 48, 40  # examples: no test needs a good model
CASES = ["ear", "plain", "pairs", "stitching"]
STITCHED = "enqueue=[{k: 10, weighting: softmax, tau: 0.1, epochs: 2, batch_size: 8}]"
DRAWN = STITCHED.replace("k: 10", "k: 10, anchors: 100")  # each replicate of a search has different anchors
TUNED = "enqueue=[{alpha: 1.0, beta: 0.1, layer: 2, lr: 2e-3, epochs: 2, batch_size: 8, gradient_checkpointing: false}]"


@functools.cache
def folder_of_pairs(folder):
    """The world's topics as a task of sentence pairs: do both sentences have the same topic?"""
    for language in ("qel", "qan", "qor"):
        for split in ("train", "dev"):
            lines = (FILES / "topics" / language / f"{split}.tsv").read_text().splitlines()[1:]
            rows = [line.split("\t")[1:] for line in lines[:120]]
            both = zip(rows, rows[1:] + rows[:1], strict=True)
            text = "".join(
                f"{first[1]}\t{second[1]}\t{'same' if first[0] == second[0] else 'other'}\n" for first, second in both
            )
            (folder / f"{split}-{language}.tsv").write_text("first\tsecond\tlabel\n" + text)
    return folder


@pytest.fixture(scope="module")
def inputs_of(tmp_path_factory):
    """The inputs of a landscape of each kind, cut to a few examples, and the parameters of its runs."""
    folder = folder_of_pairs(tmp_path_factory.mktemp("pairs"))
    pairs = f"task={{name: text, data: '{folder}/{{split}}-{{language}}.tsv', source: qel, targets: [qan, qor], "
    pairs += "text: first, second: second, label: label}"

    @functools.cache
    def made(kind, equal="updates"):
        options = {"match": equal} | ({"baseline": "plain"} if kind == "plain" else {})
        overrides = {"stitching": [STITCHED], "drawn": [DRAWN], "pairs": [TUNED, pairs]}.get(kind, [TUNED])
        name = "demo" if kind in ("stitching", "drawn") else "demo-ear"
        specification = landscape_specification(name, None, options, overrides)
        return cut(prepare(Landscape, specification.as_dict())), Plan.of(specification).params

    return made


def cut(inputs: LandscapeInputs) -> LandscapeInputs:
    """Fewer examples of the targets than of the source, so that equal updates and equal epochs are two things."""
    own, few, shown = inputs.own, np.arange(TRAIN_EXAMPLES), np.arange(DEV_EXAMPLES)
    if inputs.method == "ear":
        dev = {language: data.take(shown) for language, data in own.dev.items()}
        own = dataclasses.replace(own, train=own.train.take(few), dev=dev)
        labelled = {language: data.take(few[:32]) for language, data in inputs.labelled.items()}
    else:
        targets = {
            language: dataclasses.replace(target, dev=target.dev.take(shown))
            for language, target in own.targets.items()
        }
        own = dataclasses.replace(own, train=own.train.take(few), dev=own.dev.take(shown), targets=targets)
        labelled = {
            language: dataclasses.replace(pool, data=pool.data.take(few[:32]))
            for language, pool in inputs.labelled.items()
        }
    return dataclasses.replace(inputs, own=own, labelled=labelled)


def built(inputs, params, on, replicate=0):
    target = "" if inputs.method == "ear" and on in (INITIAL, SOURCE) else "qan"
    return Trained(inputs, Job(TRAIN, on, target).params() | params, Streams(0, replicate), CPU)


KNOWN = {}


def trained(inputs, params, on, replicate=0):
    """The last metrics and the parameters of a model trained from the stored initialisation. Trained once."""
    key = (id(inputs), on, replicate)  # `inputs_of` is cached and has its own parameters
    if key not in KNOWN:
        KNOWN[key] = newly_trained(inputs, params, on, replicate)
    metrics, product = KNOWN[key]
    return metrics, dict(product)


def newly_trained(inputs, params, on, replicate):
    run = built(inputs, params, on, replicate)
    if on != INITIAL:
        run.receive([trained(inputs, params, INITIAL, replicate)[1]])
    for number in range(run.steps):
        try:
            metrics = run.step(number)
        except RunFailed as error:  # a model of so few examples may predict a single class
            metrics = error.metrics
    return metrics, run.product()


@pytest.mark.parametrize("kind", CASES)
def test_ends_of_lines_and_corners_of_planes_are_the_trained_models_scores_exactly(inputs_of, kind):
    inputs, params = inputs_of(kind)
    models = {on: trained(inputs, params, on) for on in (SOURCE, TARGET, BOTH)}
    for job, used in [
        (Job(LINE, SOURCE, "qan", ALL), [SOURCE, BOTH]),
        (Job(LINE, TARGET, "qan", ALL), [TARGET, BOTH]),
        (Job(PLANE, "", "qan", ALL, row=3), [BOTH]),
        (Job(PLANE, "", "qan", ALL, row=15), [TARGET]),
    ]:
        taken = [BOTH, SOURCE, TARGET] if job.landscape == PLANE else used
        run = Points(inputs, job.params() | params, Streams(0, 0), CPU)
        run.receive([models[on][1] for on in taken])
        corners = {(0.0, 0.0): BOTH, (1.0, 0.0): SOURCE, (0.0, 1.0): TARGET}
        ends = {(0.0,): used[0], (1.0,): used[-1]} if job.landscape == LINE else corners
        for number, point in enumerate(run.job.points()):
            if point in ends:
                metrics = run.step(number)
                for name in ("macro_f1", "accuracy"):
                    for language in ("qel", "qan"):
                        key = f"dev/{name}/{language}"
                        assert metrics[key] == models[ends[point]][0][key], (job, point, key)


@pytest.mark.parametrize("kind", ["ear", "stitching", "drawn"])
def test_ends_of_the_line_between_two_seeds_are_their_models_scores_exactly(inputs_of, kind):
    inputs, params = inputs_of(kind)
    models = [trained(inputs, params, SOURCE, replicate) for replicate in (0, 1)]
    assert models[0][0] != models[1][0]
    target = "" if kind == "ear" else "qan"
    run = Points(inputs, Job(SEEDS, SOURCE, target, ALL, other=1).params() | params, Streams(0, 0), CPU)
    run.receive([product for _, product in models])
    for end, (metrics, _) in enumerate(models):
        scores = run.step(run.job.points().index((float(end),)))
        for key in (f"dev/{name}/{language}" for name in ("macro_f1", "accuracy") for language in ("qel", "qan")):
            assert scores[key] == metrics[key], (end, key)


@pytest.mark.parametrize("kind", CASES)
def test_all_three_models_start_at_the_stored_initialisation_and_are_trained(inputs_of, kind):
    inputs, params = inputs_of(kind)
    _, initial = trained(inputs, params, INITIAL)
    ends = [trained(inputs, params, on)[1] for on in (SOURCE, TARGET, BOTH)]
    for end in ends:
        assert end.keys() == initial.keys()
        assert any(not np.array_equal(end[name], initial[name]) for name in end)
    stored = {name: value + 0.5 for name, value in initial.items()}
    run = built(inputs, params, BOTH)
    run.receive([stored])
    for name, parameter in run.subject.learner.model.named_parameters():
        if name in stored:
            np.testing.assert_array_equal(parameter.detach().numpy(), stored[name])


def test_replicates_have_heads_of_their_own_and_one_encoder(inputs_of):
    inputs, params = inputs_of("ear")
    first, second = (trained(inputs, params, INITIAL, replicate)[1] for replicate in (0, 1))
    differing = {name for name in first if not np.array_equal(first[name], second[name])}
    assert "classifier.weight" in differing
    assert not any(name.startswith(("bert.encoder.", "bert.embeddings.")) for name in differing)


@pytest.mark.parametrize("kind", ["ear", "stitching"])
def test_the_source_model_is_the_one_that_the_method_itself_trains(inputs_of, kind):
    inputs, params = inputs_of(kind)
    metrics, product = trained(inputs, params, SOURCE)
    if kind == "ear":
        run = Ear(inputs.own, params, Streams(0, 0), CPU)
        model = run.learner.model
    else:
        own = dataclasses.replace(inputs.own, targets={"qan": inputs.own.targets["qan"]})
        run = Stitching(own, params | {"freeze_embeddings": True}, Streams(0, 0), CPU)
        model = run.pairs["qan"].learner.model
    for number in range(run.steps):
        try:
            alone = run.step(number)
        except RunFailed as error:
            alone = error.metrics
    assert {name: value for name, value in alone.items() if name in metrics} == metrics
    state = model.state_dict()
    assert all(np.array_equal(state[name].numpy(), value) for name, value in product.items())


@pytest.mark.parametrize("kind", ["ear", "stitching"])
@pytest.mark.parametrize(("equal", "updates"), [("updates", [12, 12, 12]), ("epochs", [12, 8, 20])])
def test_either_updates_or_epochs_are_equal(inputs_of, kind, equal, updates):
    """48, 32 and 80 examples in batches of 8, twice."""
    inputs, params = inputs_of(kind, equal)
    counts = []
    for on in (SOURCE, TARGET, BOTH):
        run = built(inputs, params, on)
        done = []
        step = run.subject.learner.update
        run.subject.learner.update = lambda step=step, done=done: (done.append(1), step())
        for number in range(run.steps):
            with contextlib.suppress(RunFailed):
                run.step(number)
        counts.append(len(done))
        assert run.subject.learner.schedule.get_last_lr() == [0.0, 0.0]  # the schedule fits the number of examples
    assert counts == updates


@given(st.integers(1, 60), st.integers(1, 40), st.integers(0, 3))
def test_every_example_comes_once_before_any_comes_again(pool, size, replicate):
    streams = Streams(0, replicate)
    rows = np.concatenate([epoch_rows(pool, size, epoch, streams) for epoch in range(6)])
    assert len(rows) == 6 * size
    for start in range(0, len(rows) - pool + 1, pool):
        assert sorted(rows[start : start + pool]) == list(range(pool))


def test_a_set_of_the_right_size_is_taken_as_it_is():
    assert epoch_rows(7, 7, 3, Streams(0, 0)).tolist() == list(range(7))


def test_sentences_of_a_target_are_never_changed_for_synonyms_of_the_source(inputs_of):
    inputs, params = inputs_of("ear")
    word = next(word for word, others in inputs.own.synonyms.items() if others)
    foreign = dataclasses.replace(inputs.labelled["qan"], sentences=[([word] * 5,)] * 32)
    changed = dataclasses.replace(inputs, labelled={"qan": foreign})
    run = built(changed, params, BOTH).subject.run
    run.number = 0
    run.train_on(built(changed, params, BOTH).subject.pool)
    copies, live = run.copies(np.arange(48, 80))
    assert copies == [([word] * 5,)] * 32
    assert not any(live)
    assert any(run.copies(np.arange(48))[1])


def test_ids_of_a_joined_set_name_the_vectors_that_the_pair_itself_would_look_up(inputs_of):
    inputs, params = inputs_of("stitching")
    subject = built(inputs, params, BOTH).subject
    pair, labelled, source = subject.run.pairs["qan"], inputs.labelled["qan"], inputs.own.train
    subject.train_on(subject.pool)
    rows = pair.tables.target(labelled.vectors)[0]
    theirs = torch.cat([pair.learner.model.get_input_embeddings().weight.detach()[pair.specials], rows])
    for row in (0, 17, 31):
        length = labelled.data.lengths[row]
        wanted = theirs[torch.from_numpy(labelled.data.ids[row, :length].astype(np.int64))]
        joined = subject.pool.ids[len(source) + row, :length].astype(np.int64)
        assert torch.equal(pair.lookup[torch.from_numpy(joined)], wanted)
    own = source.ids[5, : source.lengths[5]].astype(np.int64)
    assert np.array_equal(subject.pool.ids[5, : source.lengths[5]], own)
    assert torch.equal(pair.lookup[torch.from_numpy(own)], pair.tables.source[torch.from_numpy(own)])
    assert np.array_equal(subject.pool.labels, np.concatenate([source.labels, labelled.data.labels]))


def test_sets_of_different_widths_join_without_mixing(inputs_of):
    inputs, _ = inputs_of("stitching")
    short = inputs.own.train.take(inputs.own.train.lengths.argsort()[:4])
    short = dataclasses.replace(short, ids=short.ids[:, : short.lengths.max()])
    words = shifted(inputs.labelled["qan"].data, inputs.own)
    both = joined_ids(short, words)
    assert both.ids.shape == (4 + 32, max(short.ids.shape[1], words.ids.shape[1]))
    for row, (ids, length) in enumerate(zip([*short.ids, *words.ids], both.lengths, strict=True)):
        assert np.array_equal(both.ids[row, :length], ids[:length])


def test_the_word_table_of_stitching_is_not_among_what_is_moved(inputs_of):
    inputs, params = inputs_of("stitching")
    run = Points(inputs, Job(LINE, SOURCE, "qan", ALL).params() | params, Streams(0, 0), CPU)
    table = run.subject.learner.model.get_input_embeddings().weight
    before = table.detach().clone()
    products = [trained(inputs, params, on)[1] for on in (SOURCE, BOTH)]
    run.receive(products)
    run.step(15)
    assert torch.equal(table.detach(), before)
    assert not any("word_embeddings" in name for name in products[0])


def test_the_head_is_every_parameter_outside_the_encoder(inputs_of):
    inputs, params = inputs_of("ear")
    parameters = built(inputs, params, SOURCE).subject.parameters
    head = [name for name in parameters.names if parameters.starts[name] >= parameters.parts[HEAD].start]
    brought = {f"bert.{name}" for name in inputs.own.encoder.weights}
    assert set(head) == set(parameters.names) - brought
    assert {"classifier.weight", "classifier.bias"} <= set(head)
    assert parameters.parts[ENCODER].stop == parameters.parts[HEAD].start
