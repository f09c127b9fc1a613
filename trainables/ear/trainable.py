"""An EAR run: cross entropy on sentences and on their copies, push of the embeddings, pull of one layer's attention."""

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from seedwise.trainables.ear import targets
from seedwise.trainables.ear.baselines import BASELINES
from seedwise.trainables.ear.embeddings import gaussian
from seedwise.trainables.ear.examples import compacted
from seedwise.trainables.ear.fine_tuning import CURVE_POINTS, FineTuning
from seedwise.trainables.ear.options import EarOptions
from seedwise.trainables.ear.pictures import losses
from seedwise.trainables.ear.prepare import prepare, prepare_test
from seedwise.trainables.ear.two_stream import TwoStream, TwoStreamOutput
from seedwise.trainables.inputs.pieces import Sentences
from seedwise.trainables.training import device

FLOORS = 10  # number of times per run that push and pull of identical inputs are measured


class Ear(FineTuning):
    """EAR, in one forward pass over both streams. Losses are per pair, so accumulation over batches is exact."""

    baselines = BASELINES
    options_type = EarOptions
    prepare = staticmethod(prepare)
    prepare_test = staticmethod(prepare_test)

    def attach(self, model: PreTrainedModel) -> None:
        options = self.options
        self.two_stream = TwoStream(
            model,
            maps=options.layer if options.pull == "apt" else None,
            states=options.layer if options.pull == "srpt" else None,
            shared_dropout=options.shared_dropout,
        )

    def loss_of(self, rows: np.ndarray) -> Tensor:
        """Equation 5: l_CE + alpha l_EPT + beta l_APT, a mean over the pairs."""
        options, originals = self.options, self.originals(rows)
        copies, changed = self.copies(rows)
        counts = torch.tensor(changed, device=self.learner.device)
        if options.unchanged == "keep" or options.push == "nt":  # noise changes every copy
            counts = torch.ones_like(counts)
        if (foreign := self.inputs.train.foreign) is not None:  # copies of foreign examples are unchanged
            counts &= ~torch.from_numpy(foreign[rows % len(foreign)]).to(counts.device)
        if self.is_due(FLOORS):
            self.measure_floor(originals, rows, counts)
        robust, push, pull = self.terms([*originals, *copies], rows, noise=options.push == "nt")
        robust, push, pull = robust.mean(), *(torch.where(counts, part, 0.0).mean() for part in (push, pull))
        for name, value in (("robust", robust.item()), ("push", push.item()), ("pull", pull.item())):
            self.add(name, value * len(rows))
            if self.is_due(CURVE_POINTS):
                self.curves.setdefault(name, []).append([self.batch_number, value])
        self.batch_number += 1
        return robust + options.alpha * push + options.beta * pull

    def terms(self, sentences: list[Sentences], rows: np.ndarray, *, noise: bool) -> tuple[Tensor, Tensor, Tensor]:
        """`terms_of` for a batch of sentences, followed by as many copies."""
        options = self.options
        batch, words, count = self.inputs.train.batch(
            sentences, self.learner.device, to_longest=options.attention == "padded" and options.pull == "apt"
        )
        if options.attention == "words":
            words, count = compacted(words)
        mask = batch["attention_mask"]
        output = self.two_stream(batch, (lambda states: gaussian(states, options.sigma, mask)) if noise else None)
        return terms_of(output, mask, words, count, self.labels_of(rows), options)

    def measure_floor(self, originals: list[Sentences], rows: np.ndarray, counts: Tensor) -> None:
        """Push and pull of identical inputs: the noise of dropout. The training is not affected."""
        state = device.random_state(self.learner.device)
        with torch.no_grad():
            _, push, pull = self.terms([*originals, *originals], rows, noise=False)
        device.set_random_state(self.learner.device, state)
        for name, values in (("push_floor", push), ("pull_floor", pull)):
            value = torch.where(counts, values, 0.0).mean().item()
            self.curves.setdefault(name, []).append([self.batch_number, value])

    def training_metrics(self) -> dict[str, float]:
        floors = {name: points[-1][1] for name, points in self.curves.items() if name.endswith("_floor")}
        metrics = super().training_metrics() | floors
        modules = self.two_stream.embeddings.module.modules()
        norm = next((module for module in modules if isinstance(module, nn.LayerNorm)), None)
        return metrics | ({"embedding_gain": norm.weight.norm().item()} if norm is not None else {})

    def pictures(self) -> list[dict]:
        return [*losses(self.curves, self.options), *super().pictures()]


def terms_of(
    output: TwoStreamOutput, mask: Tensor, words: Tensor, count: int, labels: Tensor, options: EarOptions
) -> tuple[Tensor, Tensor, Tensor]:
    """The terms of equation 5, a value per pair: robust target, push and pull."""
    robust = targets.robust(*output.halves("logits"), labels)
    push = pull = torch.zeros_like(robust)
    if options.push == "ept":
        push = targets.push(*targets.pooled(output.embeddings, mask).chunk(2), options.reduction, options.cap)
    if options.pull == "srpt":
        pull = targets.distance(*targets.pooled(output.states, mask).chunk(2), options.reduction)
    if options.pull == "apt":
        maps, present = maps_of(output.attention, mask, words, count, options)
        first, second = present.chunk(2)
        # A word that was cut off in one stream cannot be compared; a token beyond the shorter input is compared with 0.
        both = first & second if options.attention == "words" else first | second
        pull = targets.pull(*maps.chunk(2), targets.squared(both), options.reduction)
    return robust, push, pull


def maps_of(attention: Tensor, mask: Tensor, words: Tensor, count: int, options: EarOptions) -> tuple[Tensor, Tensor]:
    """The attention maps that are compared, and a mask of their existing rows and columns."""
    if options.attention == "words":
        return targets.over_words(attention, words, count)
    if options.attention == "tokens":
        return targets.over_tokens(attention, mask), mask.bool()
    return attention, torch.ones_like(mask).bool()
