"""The embedding output of an encoder, E in the paper: all embeddings of a token added up, normed and dropped."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from seedwise.errors import RequestError

Move = Callable[[Tensor], Tensor]  # from what the embeddings are (B, L, d) to what the first layer gets


class Embeddings:
    """Sees, and where asked moves, the embedding output of passes within `reading`. Other passes are as ever."""

    def __init__(self, model: PreTrainedModel):
        self.module = getattr(model.base_model, "embeddings", None)
        if not isinstance(self.module, nn.Module) or isinstance(self.module, nn.Embedding):
            raise RequestError(
                "model",
                f"{model.config.model_type} has no module `embeddings` whose output could be pushed",
                "Choose BERT, XLM-R or another encoder of their kind.",
            )
        self.output: Tensor | None = None  # of the last pass, as the first layer got it
        self._move: Move | None = None
        self._reads = False
        self.module.register_forward_hook(self._passed)

    @contextmanager
    def reading(self, move: Move | None = None) -> Iterator[None]:
        self._move, self._reads = move, True
        try:
            yield
        finally:
            self._move, self._reads = None, False

    def _passed(self, module: nn.Module, arguments: tuple, output: Tensor) -> Tensor | None:
        if not self._reads:
            return None
        self.output = output if self._move is None else self._move(output)
        return self.output


def gaussian(output: Tensor, sigma: float, mask: Tensor) -> Tensor:
    """NT: noise on the second half of a batch, the copies, in units of the embeddings' own standard deviation."""
    noise = torch.randn_like(output) * (sigma * output.detach()[mask.bool()].std())
    noise[: len(noise) // 2] = 0.0
    return output + noise


def within_ball(output: Tensor, radius: Tensor) -> Tensor:
    """RS-RP: a random direction for each token, and a part of the radius that is drawn evenly."""
    direction = nn.functional.normalize(torch.randn_like(output), dim=-1)
    return output + direction * radius * torch.rand((*output.shape[:-1], 1), device=output.device)


def climbed(moved: Tensor, gradient: Tensor, step: Tensor, radius: Tensor) -> Tensor:
    """ADV: one step of gradient ascent for each token, and back onto the ball where it left it."""
    moved = moved + nn.functional.normalize(gradient, dim=-1) * step
    return moved * (radius / moved.norm(dim=-1, keepdim=True).clamp_min(1e-12)).clamp_max(1.0)
