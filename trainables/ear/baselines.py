"""What EAR is measured against: plain fine-tuning, RS-DA, RS-RP and ADV (Huang et al. 2021, as far as it is known).

RS-RP and ADV were never released and their radius, norm and steps are not in the EAR paper: these are our own, with the
ball around each token's embedding output and its radius in units of the embeddings' mean length.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel

from seedwise.trainables.ear.embeddings import Embeddings, Move, climbed, within_ball
from seedwise.trainables.ear.options import AdversarialOptions, AugmentedOptions, PerturbedOptions, PlainOptions
from seedwise.trainables.ear.tuned import Tuned
from seedwise.trainables.inputs.pieces import Sentences
from seedwise.trainables.training.learner import Batch


class Plain(Tuned):
    """Fine-tuning on the source as it is."""

    options_type = PlainOptions

    def read(self, rows: np.ndarray) -> list[Sentences]:
        return self.originals(rows)

    def loss_of(self, rows: np.ndarray) -> Tensor:
        batch, _, _ = self.inputs.train.batch(self.read(rows), self.learner.device)
        return self.loss(batch, self.labels_of(rows))

    def loss(self, batch: Batch, labels: Tensor) -> Tensor:
        return cross_entropy(self.learner.model(**batch).logits, labels)


class Augmented(Plain):
    """RS-DA: on copies with synonyms alone."""

    options_type = AugmentedOptions
    options: AugmentedOptions

    def read(self, rows: np.ndarray) -> list[Sentences]:
        return self.changed(rows)[0]


class Perturbed(Plain):
    """RS-RP: on embeddings that are moved in a random direction, by up to the radius."""

    options_type = PerturbedOptions
    options: PerturbedOptions

    def attach(self, model: PreTrainedModel) -> None:
        self.embeddings = Embeddings(model)

    def loss(self, batch: Batch, labels: Tensor) -> Tensor:
        mask = batch["attention_mask"]
        return self.moved_loss(batch, labels, lambda output: within_ball(output, self.radius(output, mask)))

    def moved_loss(self, batch: Batch, labels: Tensor, move: Move) -> Tensor:
        with self.embeddings.reading(move):
            return super().loss(batch, labels)

    def radius(self, output: Tensor, mask: Tensor) -> Tensor:
        """The radius of the ball as a length."""
        return self.options.radius * output.detach().norm(dim=-1)[mask.bool()].mean()


class Adversarial(Perturbed):
    """ADV: on embeddings that are moved to where the loss is worst, by steps of projected gradient ascent."""

    options_type = AdversarialOptions
    options: AdversarialOptions

    def loss(self, batch: Batch, labels: Tensor) -> Tensor:
        """The ascent starts in the middle; its steps together are as long as the radius."""
        mask, moved = batch["attention_mask"], torch.zeros(())
        for _ in range(self.options.ascents):
            leaf: list[Tensor] = []

            def move(output: Tensor, moved: Tensor = moved, leaf: list[Tensor] = leaf) -> Tensor:
                leaf.append(moved.to(output.device).expand_as(output).clone().requires_grad_())
                return output + leaf[0]

            (gradient,) = torch.autograd.grad(self.moved_loss(batch, labels, move), leaf)
            radius = self.radius(self.embeddings.output - leaf[0], mask)
            moved = climbed(leaf[0].detach(), gradient, radius / self.options.ascents, radius)
        return self.moved_loss(batch, labels, lambda output: output + moved)


BASELINES: dict[str, type[Tuned]] = {"plain": Plain, "rs_da": Augmented, "rs_rp": Perturbed, "adv": Adversarial}
