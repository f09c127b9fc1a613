import copy

import numpy as np
import pytest
import torch

from seedwise.trainables.dcca.correlation import correlation_loss, reference_loss
from seedwise.trainables.dcca.masking import Masking
from seedwise.trainables.dcca.options import DccaOptions, MaskedOptions
from seedwise.trainables.dcca.pretraining import Pretrainer
from seedwise.trainables.dcca.words import Encoding
from seedwise.trainables.method import RunFailed
from tests.trainables.dcca.small import small_model, small_words

CPU = torch.device("cpu")
MASKING = Masking(mask=4, pad=0, special=(0, 1, 2, 3, 4), vocabulary=40)
STATIC = small_words(64, width=16)
BLOCKS = np.random.default_rng(3).integers(5, 40, (6, 10)).astype(np.int32)
SMALL = {"words": 48, "directions": 6, "top_k": 4, "word_batch": 10, "steps": 5, "clip": 0.0, "lr": 0.1}


def gradients(options, *, rows=48, blocks=BLOCKS, dropout=0.0):
    """The losses and gradients of one step, before the optimiser changes a weight."""
    trainer = Pretrainer(small_model(dropout=dropout), options, MASKING, CPU)
    trainer.update = lambda: None
    torch.manual_seed(7)
    losses = trainer.step(blocks, 11, STATIC, np.arange(rows))
    return losses, {
        name: parameter.grad for name, parameter in trainer.model.named_parameters() if parameter.grad is not None
    }


def by_hand(weight, loss_of):
    """The same from one pass over all blocks and one pass over all words."""
    model = small_model().train()
    hidden, labels = (torch.from_numpy(part.astype(np.int64)) for part in MASKING(BLOCKS, 0.15, 11))
    guessed = model(input_ids=hidden, attention_mask=torch.ones_like(hidden), labels=labels).loss
    encoding = Encoding(0, "last", "pieces", "masked")
    vectors = encoding(model, encoding.batch(STATIC.pieces, np.arange(48), CPU))
    aligned = loss_of(vectors, torch.from_numpy(STATIC.table[:48]))
    (guessed + weight * aligned).backward()
    return (guessed.item(), aligned.item()), {name: parameter.grad for name, parameter in model.named_parameters()}


@pytest.mark.parametrize(
    ("alignment", "loss_of"),
    [
        ("dcca", lambda vectors, static: correlation_loss(vectors, static, top_k=4, directions=6, ridge=1e-3)),
        ("mse", lambda vectors, static: ((vectors - static) ** 2).mean()),
    ],
)
@pytest.mark.parametrize("block_batch", [2, 4])
def test_a_step_in_parts_has_the_gradient_of_the_whole(alignment, loss_of, block_batch):
    losses, actual = gradients(DccaOptions(alignment=alignment, weight=3.0, block_batch=block_batch, **SMALL))
    values, expected = by_hand(3.0, loss_of)
    assert (losses["mlm_loss"], losses["alignment"]) == pytest.approx(values, rel=1e-4)
    assert actual.keys() == expected.keys()
    for name, gradient in expected.items():
        torch.testing.assert_close(actual[name], gradient, rtol=2e-3, atol=2e-6)


def test_the_released_loss_is_that_of_each_forward_pass_of_words():
    options = DccaOptions(loss="released", padding="attended", pooling="all", **SMALL | {"word_batch": 16})
    losses, _ = gradients(options)
    model = small_model().train()
    encoding = Encoding(0, "last", "all", "attended")
    parts = [np.arange(start, start + 16) for start in (0, 16, 32)]  # in the order in which they were drawn
    expected = [
        reference_loss(
            encoding(model, encoding.batch(STATIC.pieces, part, CPU)), torch.from_numpy(STATIC.table[part]), top_k=4
        ).item()
        for part in parts
    ]
    assert losses["alignment"] == pytest.approx(sum(expected) / 3, rel=1e-4)


def test_without_an_alignment_no_words_are_encoded():
    losses, actual = gradients(MaskedOptions(steps=5, clip=0.0))
    assert set(losses) == {"mlm_loss"}
    again, same = gradients(DccaOptions(alignment="none", **SMALL))
    assert losses == again
    assert all(torch.equal(actual[name], same[name]) for name in actual)


def test_dropout_is_drawn_from_the_seed_of_the_step_and_from_nothing_else():
    options = DccaOptions(**SMALL)
    (_, actual), (_, repeated) = gradients(options, dropout=0.2), gradients(options, dropout=0.2)
    assert all(torch.equal(actual[name], repeated[name]) for name in actual)


def test_a_loss_that_is_not_a_number_ends_the_run_before_any_weight_moves():
    trainer = Pretrainer(small_model(), DccaOptions(**SMALL), MASKING, CPU)
    with torch.no_grad():
        trainer.model.get_input_embeddings().weight[7] = float("nan")
    before = copy.deepcopy(trainer.model.state_dict())
    with pytest.raises(RunFailed, match="the training losses are"):
        trainer.step(BLOCKS, 0, STATIC, np.arange(48))
    for name, value in trainer.model.state_dict().items():
        torch.testing.assert_close(value, before[name], equal_nan=True, rtol=0, atol=0)


def test_a_gradient_that_is_not_a_number_ends_the_run_before_any_weight_moves():
    """The released loss has no gradient where words repeat, though its value is finite."""
    options = DccaOptions(loss="released", **SMALL | {"clip": 1.0, "word_batch": 16, "words": 16})
    trainer = Pretrainer(small_model(), options, MASKING, CPU)
    before = copy.deepcopy(trainer.model.state_dict())
    with pytest.raises(RunFailed, match="the norm of the gradient is nan"):
        trainer.step(BLOCKS, 0, STATIC, np.zeros(16, dtype=np.int64))
    for name, value in trainer.model.state_dict().items():
        assert torch.equal(value, before[name])
