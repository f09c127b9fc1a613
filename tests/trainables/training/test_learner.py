import math
from collections import Counter

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import BertConfig, BertForSequenceClassification, get_scheduler

from seedwise.errors import RequestError
from seedwise.trainables.inputs.text import encode
from seedwise.trainables.method import RunFailed
from seedwise.trainables.training.encoder import Encoder, initialise, skeleton
from seedwise.trainables.training.learner import Learner, batch_of, updates_per_epoch
from seedwise.trainables.training.optimiser import rate
from seedwise.trainables.training.options import TrainingOptions
from seedwise.validation import request_errors

CPU = torch.device("cpu")
SIZES = {"vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


def model(seed=0, dropout=0.0):
    torch.manual_seed(seed)
    config = BertConfig(**SIZES, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout, num_labels=2)
    return BertForSequenceClassification(config)


def data(count=24):
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 2, count)
    sentences = [[2, *draw.integers(4 + 8 * label, 12 + 8 * label, draw.integers(2, 7)), 3] for label in labels]
    return encode(sentences, labels.tolist(), pad=0)


def train(options, epochs=None, learner=None, dropout=0.0, start=0):
    learner = learner or Learner(model(dropout=dropout), options, 24, CPU)
    losses = [
        learner.epoch(data(), order=epoch, dropout=epoch, loss_of=lambda batch: learner.model(**batch).loss)
        for epoch in range(start, epochs or options.epochs)
    ]
    return learner, losses


def weights(learner):
    return torch.cat([value.flatten() for value in learner.model.state_dict().values()])


@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant"])
@pytest.mark.parametrize("warmup", [0.0, 0.25])
def test_the_schedule_is_transformers_own_up_to_a_shift_of_the_warm_up(schedule, warmup):
    options, updates = TrainingOptions(schedule=schedule, warmup=warmup), 40
    optimiser = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    name = "constant_with_warmup" if schedule == "constant" else schedule
    theirs = get_scheduler(name, optimiser, num_warmup_steps=int(warmup * updates), num_training_steps=updates)
    expected = []
    for _ in range(updates):
        expected.append(theirs.get_last_lr()[0])
        optimiser.step()
        theirs.step()
    ours = [rate(step, updates, options) for step in range(updates)]
    warm = int(warmup * updates)
    assert ours[warm:] == pytest.approx(expected[warm:])
    # Our schedule does not waste the first update on a rate of zero; it rises linearly to the peak.
    assert ours[:warm] == pytest.approx([(step + 1) / (warm + 1) for step in range(warm)])


def test_updates_are_counted_after_accumulation():
    assert updates_per_epoch(860, TrainingOptions(batch_size=32, accumulation=4)) == 7  # Taxi1500's own numbers


def test_the_learning_rate_ends_at_zero():
    learner, _ = train(TrainingOptions(lr=1e-3, epochs=3, batch_size=4, accumulation=2))
    assert learner.optimiser.param_groups[0]["lr"] == pytest.approx(0.0)


def test_accumulation_is_exact():
    whole, _ = train(TrainingOptions(lr=1e-3, epochs=2, batch_size=8))
    parts, _ = train(TrainingOptions(lr=1e-3, epochs=2, batch_size=2, accumulation=4))
    torch.testing.assert_close(weights(whole), weights(parts), atol=2e-5, rtol=1e-4)


def test_training_learns_and_gradient_checkpointing_changes_nothing():
    plain, losses = train(TrainingOptions(lr=1e-2, epochs=8, batch_size=8))
    assert losses[-1] < 0.5 * losses[0]
    assert (plain.predict(data()) == data().labels).mean() > 0.9
    recomputed, _ = train(TrainingOptions(lr=1e-2, epochs=8, batch_size=8, gradient_checkpointing=True))
    torch.testing.assert_close(weights(plain), weights(recomputed))


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("mode", [True, "selective"])
def test_gradient_checkpointing_of_each_kind_changes_nothing_with_dropout_either(mode, precision):
    """Recomputation draws the same dropout masks, so losses and weights are equal."""
    settings = {"lr": 1e-2, "epochs": 4, "batch_size": 8, "precision": precision}
    plain, losses = train(TrainingOptions(**settings), dropout=0.2)
    recomputed, same = train(TrainingOptions(**settings, gradient_checkpointing=mode), dropout=0.2)
    assert recomputed.model.is_gradient_checkpointing
    assert same == pytest.approx(losses, rel=1e-6)
    torch.testing.assert_close(weights(recomputed), weights(plain))


def test_selective_checkpointing_keeps_matrix_products_and_computes_the_rest_once_more():
    counted = {}
    for mode in (False, True, "selective"):
        learner = Learner(model(), TrainingOptions(gradient_checkpointing=mode), 24, CPU)
        loss = learner.model.train()(**batch_of(data(), np.arange(8), CPU)).loss
        with Count() as count:
            loss.backward()
        counted[mode] = count.calls
    assert counted["selective"]["addmm"] == counted[False]["addmm"] == 0
    assert counted[True]["addmm"] > 0
    assert counted["selective"]["gelu"] == counted[True]["gelu"] == SIZES["num_hidden_layers"]
    assert counted[False]["gelu"] == 0


class Count(TorchDispatchMode):
    """How often each operation is computed."""

    def __init__(self):
        super().__init__()
        self.calls = Counter()

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.calls[operation.overloadpacket.__name__] += 1
        return operation(*args, **(kwargs or {}))


def test_an_epoch_does_not_depend_on_what_the_process_did_before():
    options = TrainingOptions(lr=1e-3, epochs=2, batch_size=8)
    fresh, _ = train(options, dropout=0.3)
    learner = Learner(model(dropout=0.3), options, 24, CPU)
    torch.rand(1000)
    other, _ = train(options, learner=learner)
    assert torch.equal(weights(fresh), weights(other))


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_continuing_from_a_checkpoint_is_bit_identical(tmp_path, precision):
    options = TrainingOptions(lr=1e-3, epochs=4, batch_size=8, warmup=0.2, weight_decay=0.01, precision=precision)
    straight, _ = train(options, dropout=0.1)
    half, _ = train(options, epochs=2, dropout=0.1)
    half.save(tmp_path)
    fresh = Learner(model(seed=99, dropout=0.1), options, 24, CPU)
    fresh.load(tmp_path)
    resumed, _ = train(options, learner=fresh, start=2)
    assert torch.equal(weights(straight), weights(resumed))


def test_bf16_rounds_and_still_learns():
    exact, _ = train(TrainingOptions(lr=3e-3, epochs=3, batch_size=8))
    rounded, losses = train(TrainingOptions(lr=3e-3, epochs=3, batch_size=8, precision="bf16"))
    assert losses[-1] < losses[0]
    assert not torch.equal(weights(exact), weights(rounded))
    assert all(p.dtype == torch.float32 for p in rounded.model.parameters())


def test_frozen_parts_do_not_move():
    before = model()
    learner, _ = train(TrainingOptions(lr=1e-2, epochs=1, batch_size=8, freeze_embeddings=True, freeze_layers=1))
    moved = {
        name
        for (name, old), new in zip(before.named_parameters(), learner.model.parameters(), strict=True)
        if not torch.equal(old, new)
    }
    assert "bert.embeddings.word_embeddings.weight" not in moved
    assert not any(name.startswith("bert.encoder.layer.0.") for name in moved)
    assert any(name.startswith("bert.encoder.layer.1.") for name in moved)
    with pytest.raises(ValueError, match="freeze_layers: 5, but the encoder has 2 layers"):
        train(TrainingOptions(freeze_layers=5))


def test_clipping_bounds_the_update():
    steps = {}
    for clip in (0.0, 1e-3):
        options = TrainingOptions(lr=1.0, epochs=1, batch_size=24, clip=clip)
        learner = Learner(model(), options, 24, CPU)
        learner.optimiser = torch.optim.SGD(learner.model.parameters(), lr=1.0)
        learner.schedule = torch.optim.lr_scheduler.ConstantLR(learner.optimiser, factor=1.0)
        before = weights(learner)
        train(options, learner=learner)
        steps[clip] = float((weights(learner) - before).norm())
    assert steps[1e-3] <= 1.01e-3 < steps[0.0]


def test_weight_decay_is_on_matrices_only():
    learner = Learner(model(), TrainingOptions(weight_decay=0.1), 24, CPU)
    decayed, plain = learner.optimiser.param_groups
    assert decayed["weight_decay"] == 0.1
    assert plain["weight_decay"] == 0.0
    assert all(p.dim() > 1 for p in decayed["params"])
    assert all(p.dim() == 1 for p in plain["params"])


def test_a_loss_that_is_not_finite_ends_the_run():
    learner = Learner(model(), TrainingOptions(batch_size=8), 24, CPU)
    with pytest.raises(RunFailed) as error:
        learner.epoch(data(), order=0, dropout=0, loss_of=lambda batch: learner.model(**batch).loss * float("nan"))
    assert error.value.kind == "nan"


def test_batches_mask_padding_and_cut_to_the_longest():
    examples = encode([[2, 5, 3], [2, 5, 6, 7, 3], [2, 3]], [0, 1, 0], pad=0)
    first, second = (batch_of(examples, np.array(rows), CPU) for rows in ([0, 2], [1]))
    assert first["input_ids"].tolist() == [[2, 5, 3], [2, 3, 0]]
    assert first["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 0]]
    assert second["attention_mask"].sum() == 5
    assert second["labels"].tolist() == [1]
    assert first.keys() == {"input_ids", "attention_mask", "labels"}


def test_kinds_of_tokens_travel_to_training_and_to_prediction():
    sentences, kinds = [[2, 5, 3, 6, 3], [2, 5, 6, 3, 7, 8, 3]], [[0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1, 1]]
    examples = encode(sentences, [0, 1], pad=0, types=kinds)
    batch = batch_of(examples, np.array([1, 0]), CPU)
    assert batch["token_type_ids"].tolist() == [kinds[1], [*kinds[0], 0, 0]]
    assert batch_of(examples, np.array([0]), CPU)["token_type_ids"].tolist() == [kinds[0]]
    learner = Learner(model(), TrainingOptions(batch_size=2), 2, CPU)
    given = []
    learner.model.bert.embeddings.register_forward_hook(
        lambda module, arguments, options, output: given.append(options["token_type_ids"].tolist()), with_kwargs=True
    )
    learner.epoch(examples, order=0, dropout=0, loss_of=lambda batch: learner.model(**batch).loss)
    learner.predict(examples)
    assert given == [[[*kinds[0], 0, 0], kinds[1]]] * 2


def test_the_head_comes_from_its_seed_and_the_encoder_from_the_checkpoint():
    reference = model(seed=5)
    body = {name: value.numpy() for name, value in reference.bert.state_dict().items() if "pooler" not in name}
    encoder = Encoder(reference.config.to_dict(), body)
    first, same, other = (skeleton(encoder, 3) for _ in range(3))
    initialise(first, encoder, 1)
    torch.rand(10)
    initialise(same, encoder, 1)
    initialise(other, encoder, 2)
    for name, value in body.items():
        assert torch.equal(first.bert.state_dict()[name], torch.from_numpy(value)), name
    assert torch.equal(first.classifier.weight, same.classifier.weight)
    assert not torch.equal(first.classifier.weight, other.classifier.weight)
    assert first.bert.pooler.dense.weight.std().item() == pytest.approx(0.02, rel=0.2)
    assert not first.classifier.bias.any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lr": 0.0}, "lr: 0.0 is wrong: input should be greater than 0"),
        ({"lr": math.nan}, "lr: nan is wrong: input should be greater than 0"),
        ({"lr": "fast"}, "lr: 'fast' is wrong: input should be a valid number"),
        ({"epochs": 1.5}, "epochs: 1.5 is wrong: input should be a valid integer"),
        ({"schedule": "step"}, "schedule: 'step' is wrong: input should be 'linear', 'cosine' or 'constant'"),
        ({"clip": -1.0}, "clip: -1.0 is wrong: input should be greater than or equal to 0"),
        ({"warmup": 1.0}, "warmup: 1.0 is wrong: input should be less than 1"),
        ({"freeze_embeddings": 1}, "freeze_embeddings: 1 is wrong: input should be a valid boolean"),
    ],
)
def test_options_refuse_impossible_values(changes, message):
    with pytest.raises(RequestError, match=f"^{message}"), request_errors():
        TrainingOptions(**changes)
