"""The parameters of a model as one vector that is written in place: no model is built or loaded for a point."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from seedwise.trainables.landscape.jobs import ALL, ENCODER, HEAD

ALIGNED = 16  # floats: tensors begin where torch would put them, as the last bits of a product may depend on that


class Parameters:
    """All that training may have moved in a model: trainable parameters and floating buffers, as float32.

    From then on they are views of one vector, `values`, those of the encoder first: to write it is to change the model.
    Integer buffers (positions, say) and frozen parameters are left alone. `head` are the names of what was drawn for
    the task; all else came with the encoder.
    """

    def __init__(self, model: nn.Module, head: set[str]):
        model.float()
        trained = {name: one for name, one in model.named_parameters() if one.requires_grad}
        self.buffers = {name: one for name, one in model.named_buffers() if one.is_floating_point()}
        trained |= self.buffers
        self.names = sorted(trained, key=lambda name: name in head)  # stable: the encoder's, then the head's
        self.shapes = {name: trained[name].shape for name in self.names}
        self.starts, end, border = {}, 0, 0
        for name in self.names:
            self.starts[name] = end
            end += -(-self.shapes[name].numel() // ALIGNED) * ALIGNED
            border = border if name in head else end
        self.parts = {ALL: slice(None), ENCODER: slice(border), HEAD: slice(border, None)}
        self.values = torch.zeros(end, device=next(iter(trained.values())).device)
        for name, view in self.views(self.values).items():
            view.copy_(trained[name].detach())
            trained[name].data = view

    def views(self, vector: Tensor) -> dict[str, Tensor]:
        """The tensors that a vector holds, by name."""
        places = ((name, self.starts[name], shape) for name, shape in self.shapes.items())
        return {name: vector[start : start + shape.numel()].view(shape) for name, start, shape in places}

    def named(self) -> dict[str, np.ndarray]:
        """A copy of what the model has now, by name."""
        return {name: view.cpu().numpy().copy() for name, view in self.views(self.values).items()}

    def vector(self, named: dict[str, np.ndarray]) -> Tensor:
        """Such a copy as one vector, on the model's device."""
        if named.keys() != set(self.names):
            raise ValueError(f"these are parameters of another model: {sorted(named.keys() ^ set(self.names))[:3]}")
        vector = torch.zeros_like(self.values)
        for name, view in self.views(vector).items():
            view.copy_(torch.from_numpy(np.array(named[name])))
        return vector

    def write(self, weights: Sequence[float], vectors: Sequence[Tensor], part: str = ALL) -> None:
        """Set a part of the model to the weighted sum of vectors. What weighs nothing is not read, so that a model with
        the weight 1 comes out to the last bit."""
        place, chosen = self.values[self.parts[part]], self.parts[part]
        used = [(weight, vector[chosen]) for weight, vector in zip(weights, vectors, strict=True) if weight]
        (weight, vector), *others = used
        torch.mul(vector, weight, out=place)
        for weight, vector in others:
            place.add_(vector, alpha=weight)

    def direction(self, around: Tensor, seed: int) -> Tensor:
        """A random direction, each filter as long as that of `around` (Li et al. 2018).

        A filter is a row of a matrix. Biases and norms, which have none, do not move: they are few, and a random step
        in them would outweigh all others; nor do buffers, which no training moved. Drawn on the CPU, so that it is the
        same on every device.
        """
        draw = torch.Generator().manual_seed(seed)
        found = torch.zeros_like(around)
        own = self.views(around)
        for name, view in self.views(found).items():
            if view.dim() > 1 and name not in self.buffers:
                random = torch.randn(view.shape, generator=draw).to(view.device)
                over = tuple(range(1, view.dim()))
                length = random.norm(dim=over, keepdim=True).clamp_min(torch.finfo(torch.float32).tiny)
                view.copy_(random * (own[name].norm(dim=over, keepdim=True) / length))
        return found
