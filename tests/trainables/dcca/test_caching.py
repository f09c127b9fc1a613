"""The cached gradient against that of the large batch, with dropout."""

import weakref
from functools import partial

import pytest
import torch
from transformers import XLMRobertaConfig, XLMRobertaModel

from seedwise.trainables.dcca.correlation import correlation_loss
from seedwise.trainables.dcca.pretraining import cached_backward

CPU = torch.device("cpu")
WORDS = 30


@pytest.fixture
def encoder():
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    dropout = {"hidden_dropout_prob": 0.3, "attention_probs_dropout_prob": 0.3}
    config = XLMRobertaConfig(vocab_size=50, pad_token_id=1, **sizes, **dropout)
    return XLMRobertaModel(config, add_pooling_layer=False).double().train()


def batches(size):
    """Words of 3 to 7 tokens, in batches of `size` and a last one with the rest."""
    draw = torch.Generator().manual_seed(1)
    ids = torch.randint(4, 50, (WORDS, 7), generator=draw)
    mask = (torch.arange(7) < torch.randint(3, 8, (WORDS, 1), generator=draw)).long()
    return list(zip(ids.split(size), mask.split(size), strict=True))


def encoded(encoder, batch, dtype=None):
    ids, mask = batch
    with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None, cache_enabled=False):
        states = encoder(ids, attention_mask=mask).last_hidden_state
        return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


def loss_of(encodings):
    static = torch.randn(WORDS, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    return correlation_loss(encodings, static, top_k=2, directions=4, ridge=1e-3)


def gradients(encoder):
    by_name = {name: parameter.grad for name, parameter in encoder.named_parameters() if parameter.grad is not None}
    encoder.zero_grad(set_to_none=True)
    return by_name


def straightforward(encoder, size, encode=encoded, loss_of=loss_of):
    loss = loss_of(torch.cat([encode(encoder, batch) for batch in batches(size)]))
    loss.backward()
    return loss.item(), gradients(encoder)


@pytest.mark.parametrize("size", [WORDS, 10, 8, 1])
def test_the_gradient_is_that_of_the_large_batch_with_the_same_dropout(encoder, size):
    torch.manual_seed(3)
    expected_loss, expected = straightforward(encoder, size)
    drawn_next = torch.rand(3)
    torch.manual_seed(3)
    loss = cached_backward(partial(encoded, encoder), batches(size), loss_of, device=CPU)
    assert loss == pytest.approx(expected_loss, abs=1e-12)
    assert torch.equal(torch.rand(3), drawn_next)
    torch.testing.assert_close(gradients(encoder), expected, rtol=1e-9, atol=1e-12)
    other_loss, _ = straightforward(encoder, size)
    assert abs(other_loss - expected_loss) > 1e-3  # dropout is active


def test_gradients_are_added_to_those_that_are_there(encoder):
    encoder.eval()
    encode = partial(encoded, encoder)
    cached_backward(encode, batches(8), loss_of, device=CPU)
    once = {
        name: parameter.grad.clone() for name, parameter in encoder.named_parameters() if parameter.grad is not None
    }
    cached_backward(encode, batches(8), loss_of, device=CPU)
    torch.testing.assert_close(gradients(encoder), {name: 2 * gradient for name, gradient in once.items()})


def test_a_loss_that_draws_leaves_the_generator_where_it_would_be_without_caching(encoder):
    def noisy(encodings):
        return loss_of(encodings + 0.1 * torch.randn(encodings.shape))

    torch.manual_seed(3)
    _, expected = straightforward(encoder, 8, loss_of=noisy)
    drawn_next = torch.rand(3)
    torch.manual_seed(3)
    cached_backward(partial(encoded, encoder), batches(8), noisy, device=CPU)
    assert torch.equal(torch.rand(3), drawn_next)
    torch.testing.assert_close(gradients(encoder), expected, rtol=1e-9, atol=1e-12)


def test_a_scaler_scales_what_is_differentiated_and_not_what_is_returned(encoder):
    encoder.eval()
    expected_loss, expected = straightforward(encoder, 8)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    optimiser = torch.optim.SGD(encoder.parameters(), lr=0.0)
    scaled = lambda loss: scaler.scale(0.5 * loss)  # noqa: E731
    loss = cached_backward(partial(encoded, encoder), batches(8), loss_of, device=CPU, scaled=scaled)
    assert loss == pytest.approx(expected_loss, abs=1e-12)
    actual = {
        name: parameter.grad.clone() for name, parameter in encoder.named_parameters() if parameter.grad is not None
    }
    torch.testing.assert_close(actual, {name: 512 * gradient for name, gradient in expected.items()})
    scaler.unscale_(optimiser)
    torch.testing.assert_close(gradients(encoder), {name: 0.5 * gradient for name, gradient in expected.items()})


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_under_autocast_the_gradient_is_that_of_the_large_batch_too(encoder, dtype):
    encode = partial(encoded, encoder.float(), dtype=dtype)
    torch.manual_seed(3)
    expected_loss, expected = straightforward(encoder, 8, lambda _, batch: encode(batch))
    torch.manual_seed(3)
    assert cached_backward(encode, batches(8), loss_of, device=CPU) == expected_loss
    actual = gradients(encoder)
    assert all(gradient.dtype == torch.float32 for gradient in actual.values())
    torch.testing.assert_close(actual, expected, rtol=1e-3, atol=1e-5)


def test_one_micro_batch_is_kept_at_a_time(encoder):
    """Peak bytes held by the graph: with four batches, those of the largest batch."""
    encoder.eval()
    encode = partial(encoded, encoder)
    alone = [peak(lambda batch=batch: encode(batch).square().sum().backward()) for batch in batches(8)]
    rest = peak(lambda: loss_of(torch.randn(WORDS, 16, dtype=torch.float64, requires_grad=True)).backward())
    together = peak(lambda: cached_backward(encode, batches(8), loss_of, device=CPU))
    assert together <= max(*alone, rest)
    assert together < 0.5 * peak(lambda: straightforward(encoder, 8))


def peak(work):
    """Peak bytes of distinct tensors saved for a backward pass and not yet freed."""
    held, largest = {}, 0

    class Kept:
        def __init__(self, tensor):
            self.tensor = tensor

    def freed(address):
        held[address][0] -= 1
        if not held[address][0]:
            del held[address]

    def keep(tensor):
        nonlocal largest
        storage, kept = tensor.untyped_storage(), Kept(tensor)
        held.setdefault(storage.data_ptr(), [0, storage.nbytes()])[0] += 1
        weakref.finalize(kept, freed, storage.data_ptr())
        largest = max(largest, sum(size for _, size in held.values()))
        return kept

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda kept: kept.tensor):
        work()
    return largest
