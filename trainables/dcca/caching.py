"""Gradient caching: the gradient of a loss over many words at once, in the memory of a few of them.

A correlation is no sum over words, so micro-batches cannot each have their own. The encodings of all words fit into
memory; what does not are the activations. So words are encoded twice: first without a graph, for the loss and its
gradient by every encoding, then micro-batch by micro-batch with one, into which the rows of that gradient are fed.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from seedwise.trainables.training.device import random_state, set_random_state


def cached_backward(
    encode: Callable[[Any], Tensor],
    batches: Sequence[Any],
    loss_of: Callable[[Tensor], Tensor],
    *,
    device: torch.device,
    scaled: Callable[[Tensor], Tensor] = lambda loss: loss,
) -> float:
    """Add the gradient of the loss over all batches to that of the parameters, and return the loss.

    `encode` makes of a batch its encodings, a row for each word. Autocast, where there is any, belongs into it, so that
    it ends before the backward pass. Dropout is the same both times: before each batch the generator of `device` is set
    back. It ends where encoding everything once, and `loss_of`, leave it. `scaled` makes of the loss what is
    differentiated (a weight, a GradScaler's `scale`); the loss is returned without it.
    """
    states, rows = [], []
    with torch.no_grad():
        for batch in batches:
            states.append(random_state(device))
            rows.append(encode(batch))
    encodings = torch.cat(rows).requires_grad_()
    loss = loss_of(encodings)
    (gradient,) = torch.autograd.grad(scaled(loss), encodings)
    end = random_state(device)
    for batch, state, part in zip(batches, states, gradient.split([len(one) for one in rows]), strict=True):
        set_random_state(device, state)
        encode(batch).backward(part)
    set_random_state(device, end)
    return loss.item()
