"""An EAR run: cross entropy on sentences and on their copies, push of the embeddings, pull of one layer's attention."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from seedwise.trainables.ear import targets
from seedwise.trainables.ear.baselines import BASELINES
from seedwise.trainables.ear.embeddings import gaussian
from seedwise.trainables.ear.examples import compacted
from seedwise.trainables.ear.options import EarOptions
from seedwise.trainables.ear.prepare import EarInputs, prepare, prepare_test
from seedwise.trainables.ear.tuned import POINTS, Tuned
from seedwise.trainables.ear.twin import Seen, Twin
from seedwise.trainables.inputs.pieces import Sentences
from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.method import Candidates
from seedwise.trainables.request import Request
from seedwise.trainables.training import device

FLOORS = 10  # times per run that the value of identical inputs is measured


@dataclass(frozen=True)
class Terms:
    """The parts of equation 5, one value per pair."""

    robust: Tensor
    push: Tensor
    pull: Tensor


class Ear(Tuned):
    """EAR, in one pass over both streams. Its losses are per pair, so accumulation over batches is exact."""

    baselines = BASELINES
    options_type = EarOptions
    options: EarOptions

    @classmethod
    def prepare(cls, request: Request, candidates: Candidates) -> EarInputs:
        return prepare(request, candidates)

    @classmethod
    def prepare_test(cls, request: Request) -> dict[str, Encoded]:
        return prepare_test(request)

    def attach(self, model: PreTrainedModel) -> None:
        options = self.options
        self.twin = Twin(
            model,
            maps=options.layer if options.pull == "apt" else None,
            states=options.layer if options.pull == "srpt" else None,
            shared_dropout=options.shared_dropout,
        )

    def loss_of(self, rows: np.ndarray) -> Tensor:
        """Equation 5: l_CE + alpha l_EPT + beta l_APT, a mean over the pairs."""
        options, originals = self.options, self.originals(rows)
        copies, live = self.changed(rows)
        counts = torch.tensor(live, device=self.learner.device)
        if options.unchanged == "keep" or options.push == "nt":  # noise changes every copy
            counts = torch.ones_like(counts)
        if (foreign := self.inputs.train.foreign) is not None:  # whose copies are no copies with synonyms
            counts &= ~torch.from_numpy(foreign[rows % len(foreign)]).to(counts.device)
        if self.is_due(FLOORS):
            self.measure_floor(originals, rows, counts)
        terms = self.terms([*originals, *copies], rows, noise=options.push == "nt")
        push, pull = (torch.where(counts, part, 0.0).mean() for part in (terms.push, terms.pull))
        robust = terms.robust.mean()
        for name, value in (("robust", robust.item()), ("push", push.item()), ("pull", pull.item())):
            self.add(name, value * len(rows))
            if self.is_due(POINTS):
                self.curves.setdefault(name, []).append([self.batch_number, value])
        self.batch_number += 1
        return robust + options.alpha * push + options.beta * pull

    def terms(self, sentences: list[Sentences], rows: np.ndarray, *, noise: bool) -> Terms:
        """The targets of a batch of sentences and, after them, as many copies."""
        options = self.options
        batch, words, count = self.inputs.train.batch(
            sentences, self.learner.device, to_longest=options.attention == "padded" and options.pull == "apt"
        )
        if options.attention == "words":
            words, count = compacted(words)
        mask = batch["attention_mask"]
        seen = self.twin(batch, (lambda output: gaussian(output, options.sigma, mask)) if noise else None)
        return terms_of(seen, mask, words, count, self.labels_of(rows), options)

    def measure_floor(self, originals: list[Sentences], rows: np.ndarray, counts: Tensor) -> None:
        """What push and pull are for identical inputs: dropout's part in them. It leaves no trace in the training."""
        state = device.random_state(self.learner.device)
        with torch.no_grad():
            terms = self.terms([*originals, *originals], rows, noise=False)
        device.set_random_state(self.learner.device, state)
        for name, values in (("push_floor", terms.push), ("pull_floor", terms.pull)):
            value = torch.where(counts, values, 0.0).mean().item()
            self.curves.setdefault(name, []).append([self.batch_number, value])

    def measured(self) -> dict[str, float]:
        floors = {name: points[-1][1] for name, points in self.curves.items() if name.endswith("_floor")}
        found = super().measured() | floors
        norm = next((part for part in self.twin.embeddings.module.modules() if isinstance(part, nn.LayerNorm)), None)
        return found | ({"embedding_gain": norm.weight.norm().item()} if norm is not None else {})

    def pictures(self) -> list[dict]:
        from seedwise.trainables.ear.pictures import losses

        drawn = losses(self.curves, self.options)
        return [*([drawn] if drawn["panels"] else []), *super().pictures()]


def terms_of(seen: Seen, mask: Tensor, words: Tensor, count: int, labels: Tensor, options: EarOptions) -> Terms:
    """The targets that the options ask for, from one pass over both streams."""
    robust = targets.robust(*seen.halves("logits"), labels)
    push = pull = torch.zeros_like(robust)
    if options.push == "ept":
        push = targets.push(*targets.pooled(seen.embeddings, mask).chunk(2), options.reduction, options.cap)
    if options.pull == "srpt":
        pull = targets.distance(*targets.pooled(seen.states, mask).chunk(2), options.reduction)
    if options.pull == "apt":
        maps, present = maps_of(seen, mask, words, count, options)
        first, second = present.chunk(2)
        # A word that was cut off in one stream has nothing to be compared with; a token has: nothing at all.
        both = first & second if options.attention == "words" else first | second
        pull = targets.pull(*maps.chunk(2), targets.squared(both), options.reduction)
    return Terms(robust, push, pull)


def maps_of(seen: Seen, mask: Tensor, words: Tensor, count: int, options: EarOptions) -> tuple[Tensor, Tensor]:
    """The attention maps that are compared, and which of their rows and columns are there."""
    if options.attention == "words":
        return targets.over_words(seen.attention, words, count)
    if options.attention == "tokens":
        return targets.over_tokens(seen.attention, mask), mask.bool()
    return seen.attention, torch.ones_like(mask).bool()
