"""A model's parameters as one vector, overwritten in place, so evaluating a point builds and loads no model."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from seedwise.trainables.landscape.jobs import ALL, ENCODER, HEAD

ALIGNMENT = 16  # floats, as torch aligns tensors: the last bits of a product may depend on it


class Parameters:
    """Everything that training may have moved in a model: trainable parameters and floating buffers, as float32.

    The model's tensors become views of one vector, `values`, the encoder's first: writing to the vector changes the
    model. Integer buffers (positions, for example) and frozen parameters stay as they are. `head` names the parameters
    that were drawn for the task; all others came with the encoder.
    """

    def __init__(self, model: nn.Module, head: set[str]):
        model.float()
        self.buffers = {name: buffer for name, buffer in model.named_buffers() if buffer.is_floating_point()}
        tensors = {name: tensor for name, tensor in model.named_parameters() if tensor.requires_grad} | self.buffers
        self.names = sorted(tensors, key=lambda name: name in head)  # stable: the encoder's, then the head's
        self.shapes = {name: tensors[name].shape for name in self.names}
        self.starts, end, border = {}, 0, 0
        for name in self.names:
            self.starts[name] = end
            end += -(-self.shapes[name].numel() // ALIGNMENT) * ALIGNMENT
            border = border if name in head else end
        self.parts = {ALL: slice(None), ENCODER: slice(border), HEAD: slice(border, None)}
        self.values = torch.zeros(end, device=next(iter(tensors.values())).device)
        for name, view in self.views(self.values).items():
            view.copy_(tensors[name].detach())
            tensors[name].data = view

    def views(self, vector: Tensor) -> dict[str, Tensor]:
        """The tensors of which a vector consists, by name."""
        starts = self.starts
        return {name: vector[starts[name] :][: shape.numel()].view(shape) for name, shape in self.shapes.items()}

    def named(self) -> dict[str, np.ndarray]:
        """A copy of the model's current parameters, by name."""
        return {name: view.cpu().numpy().copy() for name, view in self.views(self.values).items()}

    def vector(self, named: dict[str, np.ndarray]) -> Tensor:
        """Join parameters by name, as from `named`, to one vector on the model's device."""
        if named.keys() != set(self.names):
            raise ValueError(f"these are parameters of another model: {sorted(named.keys() ^ set(self.names))[:3]}")
        vector = torch.zeros_like(self.values)
        for name, view in self.views(vector).items():
            view.copy_(torch.from_numpy(np.array(named[name])))
        return vector

    def write(self, weights: Sequence[float], vectors: Sequence[Tensor], part: str = ALL) -> None:
        """Set a part of the model to the weighted sum of vectors.

        Vectors of weight 0 are not read, so a single model of weight 1 is written bit for bit.
        """
        moved = self.parts[part]
        pairs = zip(weights, vectors, strict=True)
        (weight, vector), *others = [(weight, vector[moved]) for weight, vector in pairs if weight]
        torch.mul(vector, weight, out=self.values[moved])
        for weight, vector in others:
            self.values[moved].add_(vector, alpha=weight)

    def direction(self, around: Tensor, seed: int) -> Tensor:
        """A random direction in which each filter is as long as the same filter of `around` (Li et al. 2018).

        A filter is a row of a matrix. Biases and norms have no filters and do not move: they are few, and a random step
        in them would outweigh all other steps. Buffers do not move either, since training moved no buffers. The
        direction is drawn on the CPU, so it is the same on every device.
        """
        generator = torch.Generator().manual_seed(seed)
        direction = torch.zeros_like(around)
        own = self.views(around)
        for name, view in self.views(direction).items():
            if view.dim() > 1 and name not in self.buffers:
                random = torch.randn(view.shape, generator=generator).to(view.device)
                row = tuple(range(1, view.dim()))
                length = random.norm(dim=row, keepdim=True).clamp_min(torch.finfo(torch.float32).tiny)
                view.copy_(random * (own[name].norm(dim=row, keepdim=True) / length))
        return direction
