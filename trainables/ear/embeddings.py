"""The embedding output of an encoder, E in the paper: all embeddings of a token, summed, normed and after dropout."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from seedwise.errors import RequestError

Perturbation = Callable[[Tensor], Tensor]  # from the embedding output (B, L, d) to the input of the first layer


class Embeddings:
    """Records, and if asked perturbs, the embedding output of forward passes within `reading`."""

    def __init__(self, model: PreTrainedModel):
        self.module = getattr(model.base_model, "embeddings", None)
        if not isinstance(self.module, nn.Module) or isinstance(self.module, nn.Embedding):
            raise RequestError(
                "model",
                f"{model.config.model_type} has no module `embeddings` whose output could be pushed",
                "Choose BERT, XLM-R or another encoder of their kind.",
            )
        self.output: Tensor | None = None  # of the last forward pass, perturbed
        self._perturbation: Perturbation | None = None
        self._reads = False
        self.module.register_forward_hook(self._hook)

    @contextmanager
    def reading(self, perturbation: Perturbation | None = None) -> Iterator[None]:
        self._perturbation, self._reads = perturbation, True
        try:
            yield
        finally:
            self._perturbation, self._reads = None, False

    def _hook(self, module: nn.Module, arguments: tuple, output: Tensor) -> Tensor | None:
        if not self._reads:
            return None
        self.output = output if self._perturbation is None else self._perturbation(output)
        return self.output


def gaussian(output: Tensor, sigma: float, mask: Tensor) -> Tensor:
    """NT: noise on the second half of a batch, the copies, in units of the embeddings' own standard deviation."""
    noise = torch.randn_like(output) * (sigma * output.detach()[mask.bool()].std())
    noise[: len(noise) // 2] = 0.0
    return output + noise


def within_ball(output: Tensor, radius: Tensor) -> Tensor:
    """RS-RP: each token moved in a random direction, by a uniformly drawn part of the radius."""
    direction = nn.functional.normalize(torch.randn_like(output), dim=-1)
    return output + direction * radius * torch.rand((*output.shape[:-1], 1), device=output.device)


def ascended(offset: Tensor, gradient: Tensor, step: Tensor, radius: Tensor) -> Tensor:
    """ADV: a step of gradient ascent for each token, projected back onto the ball."""
    offset = offset + nn.functional.normalize(gradient, dim=-1) * step
    return offset * (radius / offset.norm(dim=-1, keepdim=True).clamp_min(1e-12)).clamp_max(1.0)
