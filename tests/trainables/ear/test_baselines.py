"""The baselines of EAR on the embedded world, against explicit training loops and counted passes."""

import dataclasses

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from seedwise import spaces
from seedwise.search.spec.load import read
from seedwise.spaces.baselines import baseline_space
from seedwise.trainables.ear.baselines import BASELINES
from seedwise.trainables.ear.embeddings import ascended, within_ball
from seedwise.trainables.ear.options import EarOptions
from seedwise.trainables.ear.trainable import Ear
from seedwise.trainables.inputs.text import encode
from seedwise.trainables.methods import spec_of
from seedwise.trainables.pictures import checked
from seedwise.trainables.streams import STREAMS, Streams
from seedwise.trainables.training.encoder import initialise, skeleton
from seedwise.trainables.training.learner import Learner
from tests.trainables.ear.test_run import CPU, FEW, FIXED, copies_by_hand, cut, first, made, without_dropout

METHOD = spaces.load("ear", {**FIXED, "copies": 1})
NAMES = tuple(spec_of("ear").baselines)
SPACES = {name: baseline_space("ear", name, METHOD, {"epochs": 3}) for name in NAMES}


@pytest.fixture(scope="module")
def few():
    return cut(FEW)


def baseline(name, inputs, replicate=0, vary=None, **changes):
    params = SPACES[name].complete(changes)
    return BASELINES[params.pop("baseline")](inputs, params, Streams(0, replicate, vary), CPU)


def run(name, inputs, replicate=0, until=2, **changes):
    """A run up to but not into its last epoch."""
    method = baseline(name, inputs, replicate, **changes)
    return method, [method.step(number) for number in range(until)]


@pytest.fixture(scope="module")
def straight(few):
    return {name: run(name, few)[1] for name in BASELINES}


def test_each_baseline_belongs_to_the_method_and_has_its_title():
    assert Ear.baselines is BASELINES
    assert {name: kind.options_type.title for name, kind in BASELINES.items()} == {
        "plain": "plain",
        "rs_da": "RS-DA",
        "rs_rp": "RS-RP",
        "adv": "ADV",
    }
    assert tuple(BASELINES) == NAMES


@pytest.mark.parametrize("name", BASELINES)
def test_a_run_depends_only_on_its_streams(name, few, straight):
    torch.rand(100)
    np.random.rand(100)  # noqa: NPY002 (the global generator is what must not matter)
    assert run(name, few)[1] == straight[name]
    assert run(name, few, replicate=1, until=1)[1] != straight[name][:1]


def test_no_two_baselines_train_alike(few, straight):
    ear = made(few).step(0)
    losses = {epochs[0]["train/loss/qel"] for epochs in straight.values()} | {ear["train/robust/qel"] / 2}
    assert len(losses) == 5
    for epochs in straight.values():
        assert set(epochs[0]) < set(ear)  # their metrics have the names of EAR's


@pytest.mark.parametrize("name", BASELINES)
def test_exactly_the_named_streams_change_a_run(name, few, straight):
    used = BASELINES[name].streams_used(SPACES[name].complete({}))
    assert used == ("head", "order", "dropout", "augmentation")[: 3 + (name == "rs_da")]
    for stream in STREAMS:
        assert (baseline(name, few, 1, stream).step(0) != straight[name][0]) == (stream in used), stream


@pytest.mark.parametrize("name", BASELINES)
def test_continuing_from_a_checkpoint_is_bit_identical(name, few, straight, tmp_path):
    half, metrics = run(name, few, until=1)
    assert metrics == straight[name][:1]
    half.save(tmp_path)
    other = baseline(name, few)
    other.load(tmp_path)
    assert other.step(1) == straight[name][1]


@pytest.mark.parametrize("name", BASELINES)
def test_a_classifier_that_predicts_one_class_reports_its_scores(name, few):
    space = baseline_space("ear", name, METHOD, {"epochs": 1, "lr": 3.0})
    params = {key: value for key, value in space.complete({}).items() if key != "baseline"}
    metrics = BASELINES[name](few, params, Streams(0, 0), CPU).step(0)
    assert metrics["dev/predicted_classes/qel"] == 1


def passes(method):
    """The sequences that the model reads with gradients per example in an epoch: the cost of a run."""
    counted = []

    def count(module, arguments, named):
        if torch.is_grad_enabled():
            counted.append(len(named["input_ids"]))

    method.learner.model.register_forward_pre_hook(count, with_kwargs=True)
    metrics = method.step(0)
    return sum(counted) / len(method.inputs.train), metrics["train/encoder_passes/qel"]


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("plain", {}, 1),
        ("rs_da", {}, 1),
        ("rs_da", {"copies": 3}, 3),
        ("rs_rp", {}, 1),
        ("adv", {"ascents": 1}, 2),
        ("adv", {"ascents": 3}, 4),
        ("ear", {}, 2),
        ("ear", {"copies": 2, "shared_dropout": False}, 4),
    ],
)
def test_the_encoder_passes_that_are_reported_are_those_that_are_made(few, name, changes, expected):
    method = made(few, **changes) if name == "ear" else baseline(name, few, **changes)
    assert passes(method) == (expected, expected)


def test_plain_is_ordinary_fine_tuning(few, straight):
    """The same training as an explicit loop with transformers' own loss."""
    tokenizer, train, streams = few.train.tokenizer, few.train, Streams(0, 0)
    ids = tokenizer([" ".join(words) for (words,) in train.sentences])["input_ids"]
    data = encode(ids, train.labels.tolist(), pad=tokenizer.pad_token_id)
    model = skeleton(few.encoder, len(few.labels))
    initialise(model, few.encoder, streams.seed("head"))
    learner = Learner(model, EarOptions(**FIXED), len(data), CPU)
    for number in range(2):
        seeds = {"order": streams.seed("order", number), "dropout": streams.seed("dropout", number)}
        loss = learner.epoch(data, **seeds, loss_of=lambda batch: model(**batch).loss)
        assert straight["plain"][number]["train/loss/qel"] == pytest.approx(loss, rel=1e-6)
        right = np.mean(learner.predict(few.dev["qan"]) == few.dev["qan"].labels)
        assert straight["plain"][number]["dev/accuracy/qan"] == pytest.approx(right)


def test_rs_da_is_plain_training_on_copies_alone(few, straight):
    copies = [copies_by_hand(epoch)[1] for epoch in range(2)]
    assert copies[0] != copies[1]
    for number in range(2):
        # Plain training on the copies of each epoch instead of the sentences, in the order of the originals.
        plain = baseline("plain", few)
        for epoch in range(number + 1):
            sentences = [(words,) for words in copies[epoch]]
            plain.inputs = dataclasses.replace(few, train=dataclasses.replace(few.train, sentences=sentences))
            metrics = plain.step(epoch)
        own = {name: value for name, value in straight["rs_da"][number].items() if name in metrics}
        assert own == metrics
        assert set(straight["rs_da"][number]) - set(metrics) == {"train/changed_share/qel", "train/unchanged_pairs/qel"}
    changed = np.mean([a != b for a, b in zip(*copies_by_hand(0), strict=True)])
    assert straight["rs_da"][0]["train/unchanged_pairs/qel"] == pytest.approx(1 - changed)


def test_a_random_move_is_anywhere_in_the_ball():
    torch.manual_seed(0)
    output = torch.randn(40, 50, 16)
    moved = within_ball(output, torch.tensor(0.7)) - output
    lengths = moved.norm(dim=-1)
    assert lengths.max() <= 0.7 * (1 + 1e-5)
    shares = np.sort((lengths / 0.7).ravel().numpy())
    np.testing.assert_allclose(shares, np.linspace(0, 1, len(shares)), atol=0.05)  # drawn uniformly
    directions = torch.nn.functional.normalize(moved, dim=-1).reshape(-1, 16)
    assert directions.mean(0).norm() < 0.06  # no preferred direction
    assert not torch.equal(within_ball(output, torch.tensor(0.7)) - output, moved)


def test_an_ascent_follows_the_gradient_and_is_projected_onto_the_ball():
    gradient = torch.tensor([[[3.0, 4.0], [0.0, 0.0], [0.0, 1e-6]]])
    step, radius = torch.tensor(0.5), torch.tensor(0.8)
    once = ascended(torch.zeros(1, 3, 2), gradient, step, radius)
    torch.testing.assert_close(once, torch.tensor([[[0.3, 0.4], [0.0, 0.0], [0.0, 0.5]]]))
    twice = ascended(once, gradient, step, radius)
    torch.testing.assert_close(twice, torch.tensor([[[0.48, 0.64], [0.0, 0.0], [0.0, 0.8]]]))
    aside = ascended(once, -gradient, step, radius)
    torch.testing.assert_close(aside, torch.zeros(1, 3, 2), atol=1e-6, rtol=0)


def moves(method, rows):
    """The losses of all passes over a batch, without dropout, and how far each had moved the embeddings."""
    losses, outputs, perturbed_loss = [], [], method.perturbed_loss

    def spy(batch, labels, move):
        loss = perturbed_loss(batch, labels, move)
        losses.append(loss.item())
        outputs.append(method.embeddings.output.detach())
        return loss

    method.perturbed_loss = spy
    method.learner.model.eval()
    final = method.loss_of(rows)
    batch, _, _ = method.inputs.train.batch(method.originals(rows), CPU)
    with torch.no_grad():
        plain = method.learner.model.base_model.embeddings(input_ids=batch["input_ids"])
        unmoved = method.learner.model(**batch, labels=method.labels_of(rows)).loss.item()
    real = batch["attention_mask"].bool()
    lengths = [(output - plain).norm(dim=-1)[real] for output in outputs]
    ball = plain.norm(dim=-1)[real].mean().item()
    return final, losses, unmoved, lengths, ball


@pytest.mark.parametrize("radius", [0.1, 0.5])
def test_rs_rp_stays_in_its_ball(few, radius):
    method = baseline("rs_rp", few, radius=radius)
    final, losses, unmoved, (lengths,), ball = moves(method, np.arange(FEW))
    assert losses == [final.item()]
    assert lengths.max().item() <= radius * ball * (1 + 1e-5)
    assert lengths.max().item() > 0.9 * radius * ball
    assert lengths.mean().item() == pytest.approx(radius * ball / 2, rel=0.15)
    assert final.item() != pytest.approx(unmoved, rel=1e-5)


@pytest.mark.parametrize("ascents", [1, 3])
def test_adv_climbs_within_its_ball_and_beyond_what_a_random_move_does(few, ascents):
    method = baseline("adv", few, radius=0.3, ascents=ascents)
    rows = np.arange(FEW)
    final, losses, unmoved, lengths, ball = moves(method, rows)
    assert len(losses) == ascents + 1
    assert losses[0] == pytest.approx(unmoved, rel=1e-5)  # it starts at the centre
    assert losses == sorted(losses)
    assert final.item() == losses[-1] > unmoved + 0.01
    for number, length in enumerate(lengths):
        assert length.max().item() <= 0.3 * ball * max(number / ascents, 1e-5) * (1 + 1e-4)
    assert lengths[1].min().item() == pytest.approx(0.3 * ball / ascents, rel=1e-4)  # a full step for every token
    random = moves(baseline("rs_rp", few, radius=0.3), rows)[0].item()
    assert final.item() > random
    final.backward()  # the loss at the end point is the training loss
    assert method.learner.model.classifier.weight.grad.norm() > 0


def test_the_ascent_leaves_no_gradient_behind(few):
    """Gradients of the ascent only move the embeddings: with moves of length zero an update equals plain training."""
    inputs = without_dropout(few)
    gradients = []
    for method in (baseline("adv", inputs, radius=1e-9, ascents=2), baseline("plain", inputs)):
        method.learner.model.train()
        method.loss_of(np.arange(8)).backward()
        gradients.append({name: part.grad for name, part in method.learner.model.named_parameters()})
    for name, gradient in gradients[1].items():
        if gradient is not None:
            torch.testing.assert_close(gradients[0][name], gradient, rtol=1e-3, atol=1e-6)


def test_a_baseline_draws_the_words_and_exports_its_model(few, tmp_path):
    method, _ = run("rs_rp", few, until=1)
    (words,) = checked(method.pictures())
    assert words["name"] == "words"
    (folder,) = method.export(read("demo-ear"), tmp_path)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    dev = first(few.dev["qor"], 1)
    with torch.no_grad():
        labels = model(input_ids=torch.from_numpy(dev.ids[:, : dev.lengths[0]].astype(np.int64))).logits.argmax(-1)
    assert labels.tolist() == method.learner.predict(dev).tolist()


@pytest.mark.parametrize("name", BASELINES)
def test_training_lowers_the_loss(name):
    _, (first_epoch, second) = run(name, cut(64))
    assert second["train/loss/qel"] < 0.98 * first_epoch["train/loss/qel"]
