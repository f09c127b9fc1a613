"""The baselines of EAR: plain fine-tuning, RS-DA, RS-RP and ADV (Huang et al. 2021), as far as they are published.

RS-RP and ADV were never released, and the EAR paper does not give their radius, norm and steps. We chose a ball around
each token's embedding output, with a radius in units of the embeddings' mean length.
"""

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from seedwise.trainables.ear.embeddings import Embeddings, Perturbation, ascended, within_ball
from seedwise.trainables.ear.fine_tuning import FineTuning
from seedwise.trainables.ear.options import AdversarialOptions, AugmentedOptions, PerturbedOptions
from seedwise.trainables.inputs.pieces import Sentences
from seedwise.trainables.training.learner import Batch


class Augmented(FineTuning):
    """RS-DA: fine-tuning only on copies with synonyms."""

    options_type = AugmentedOptions

    def read(self, rows: np.ndarray) -> list[Sentences]:
        return self.copies(rows)[0]


class Perturbed(FineTuning):
    """RS-RP: fine-tuning on embeddings that are moved in a random direction, by up to the radius."""

    options_type = PerturbedOptions

    def attach(self, model: PreTrainedModel) -> None:
        self.embeddings = Embeddings(model)

    def loss(self, batch: Batch, labels: Tensor) -> Tensor:
        mask = batch["attention_mask"]
        return self.perturbed_loss(batch, labels, lambda output: within_ball(output, self.radius(output, mask)))

    def perturbed_loss(self, batch: Batch, labels: Tensor, perturbation: Perturbation) -> Tensor:
        with self.embeddings.reading(perturbation):
            return super().loss(batch, labels)

    def radius(self, output: Tensor, mask: Tensor) -> Tensor:
        """The radius of the ball in units of the embedding space."""
        return self.options.radius * output.detach().norm(dim=-1)[mask.bool()].mean()


class Adversarial(Perturbed):
    """ADV: fine-tuning on embeddings that steps of projected gradient ascent move towards the highest loss."""

    options_type = AdversarialOptions

    def loss(self, batch: Batch, labels: Tensor) -> Tensor:
        """The loss after an ascent from the centre of the ball, whose steps together are as long as the radius."""
        mask, offset = batch["attention_mask"], torch.zeros(())
        for _ in range(self.options.ascents):
            leaf: list[Tensor] = []

            def perturb(output: Tensor, offset: Tensor = offset, leaf: list[Tensor] = leaf) -> Tensor:
                leaf.append(offset.to(output.device).expand_as(output).clone().requires_grad_())
                return output + leaf[0]

            (gradient,) = torch.autograd.grad(self.perturbed_loss(batch, labels, perturb), leaf)
            radius = self.radius(self.embeddings.output - leaf[0], mask)
            offset = ascended(leaf[0].detach(), gradient, radius / self.options.ascents, radius)
        return self.perturbed_loss(batch, labels, lambda output: output + offset)


BASELINES: dict[str, type[FineTuning]] = {
    "plain": FineTuning,
    "rs_da": Augmented,
    "rs_rp": Perturbed,
    "adv": Adversarial,
}
