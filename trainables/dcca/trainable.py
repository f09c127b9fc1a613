"""A run of continued pretraining: steps of it, what the encoder is then worth, and a classifier fine-tuned from it."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from safetensors.numpy import load_file, save_file
from transformers import PreTrainedModel

from seedwise.trainables.dcca import scores
from seedwise.trainables.dcca.drawing import Draws
from seedwise.trainables.dcca.model import encoder_of, masked_model
from seedwise.trainables.dcca.options import DccaOptions, MaskedOptions, MseOptions, UntouchedOptions
from seedwise.trainables.dcca.pictures import losses
from seedwise.trainables.dcca.prepare import DccaInputs, DccaTests, prepare, prepare_test, set_of
from seedwise.trainables.dcca.pretraining import Pretrainer
from seedwise.trainables.dcca.words import Encoding
from seedwise.trainables.ear.baselines import Plain
from seedwise.trainables.method import Candidates, Method, RunFailed
from seedwise.trainables.request import Request
from seedwise.trainables.streams import Streams
from seedwise.trainables.training.encoder import Encoder, set_weights

SEGMENTS, LONGEST = 10, 50  # a run reports and may be checkpointed so many times, and at least every so many steps


class Untouched(Method):
    """The encoder as it is, or as continued pretraining leaves it: subclasses differ in their options alone.

    A run is a number of segments of pretraining, each a step to the search, then the epochs of fine-tuning. What
    the encoder is worth without a classifier is measured once, in between.
    """

    options_type: ClassVar[type[UntouchedOptions]] = UntouchedOptions
    inputs: DccaInputs

    @classmethod
    def streams_used(cls, params: dict) -> tuple[str, ...]:
        options = cls.options_type(**params)
        pretraining = ("masks",) if options.steps else ()
        return ("head", "order", "dropout", *pretraining, *(("words",) if options.alignment != "none" else ()))

    def __init__(self, inputs: DccaInputs, params: dict, streams: Streams, device: Any):
        super().__init__(inputs, params, streams, device)
        self.options = options = self.options_type(**params)
        self.segment = max(1, min(LONGEST, options.steps // SEGMENTS))  # steps
        self.segments = math.ceil(options.steps / self.segment)
        self.steps = max(1, self.segments + options.tune_epochs)
        self.found: dict[str, float] = {}  # what the encoder is worth, once it is known
        self.curves: dict[str, list[list[float]]] = {}  # by name of a loss: [step from 0, value]
        self.encoder: Encoder | None = None  # after pretraining
        self.tuned: Plain | None = None
        model = masked_model(inputs.model, streams.seed("head", 0))
        self.model: PreTrainedModel | None = model
        self.trainer: Pretrainer | None = None
        if options.steps:
            self.trainer = Pretrainer(model, options, inputs.hiding, device)
            anew = options.block_batch if options.drawn == "anew" else 0
            self.blocks = Draws(len(inputs.blocks), options.blocks, lambda n: streams.seed("order", 0, n), anew=anew)
        if options.alignment != "none":
            self.static = inputs.static[set_of(options.static, inputs.static)]
            self.words = Draws(len(self.static.train), options.words, lambda n: streams.seed("words", 0, n))

    def step(self, number: int) -> dict[str, float]:
        metrics: dict[str, float] = {}
        if number < self.segments:
            metrics = self.pretrain(number)
        if self.encoder is None and number + 1 >= self.segments:
            self.finish()
        if number >= self.segments and self.options.tune_epochs:
            self.tuned = self.tuned or self.classifier()
            try:
                metrics = self.tuned.step(number - self.segments)
            except RunFailed as error:  # a collapsed classifier says nothing against what is known of its encoder
                metrics = error.metrics = error.metrics | self.found
                if self.inputs.classifies or error.kind != "collapsed":
                    raise
        return metrics | self.found

    def pretrain(self, segment: int) -> dict[str, float]:
        """The steps of a segment. A step depends on its number alone, so a run can go on after any of them."""
        totals: dict[str, float] = {}
        steps = range(segment * self.segment, min((segment + 1) * self.segment, self.options.steps))
        for step in steps:
            torch.manual_seed(self.streams.seed("dropout", 0, step))
            static, rows = None, np.empty(0, dtype=np.int64)
            if self.options.alignment != "none":
                static, rows = self.static, self.static.train[self.words.rows(step)]
            blocks = self.inputs.blocks[self.blocks.rows(step)]
            losses = self.trainer.step(blocks, self.streams.seed("masks", 0, step), static, rows)
            for name, value in losses.items():
                totals[name] = totals.get(name, 0.0) + value
                self.curves.setdefault(name, []).append([step, value])
        metrics = {f"train/{name}": total / len(steps) for name, total in totals.items()}
        return metrics | {"train/steps": float(steps.stop)}

    def finish(self) -> None:
        """Measure the encoder, as all runs of the search are measured, and drop its optimiser."""
        self.trainer, inputs, device = None, self.inputs, self.device
        model = self.model.to(device).eval()
        encoding = Encoding(inputs.hiding.pad, inputs.score_layer, "pieces", "masked")
        self.found = scores.guessing(model, inputs.dev, inputs.hiding.pad, device)
        for static in list(inputs.static.values())[:1]:
            self.found |= scores.correlation(model, static, encoding, device)
        self.found |= scores.lexicons(model, inputs.probes, encoding, device)
        self.found |= scores.retrieval(model, inputs.parallel, inputs.score_layer, "dev", device)
        self.encoder = encoder_of(model, inputs.rest)
        model.cpu()  # it makes room for the classifier

    def classifier(self) -> Plain:
        """A classifier on the encoder as it is now."""
        options = self.options
        params = {name: getattr(options, f"tune_{name}") for name in ("epochs", "lr", "warmup", "batch_size")}
        return Plain(replace(self.inputs.task, encoder=self.encoder), params, self.streams, self.device)

    def test(self, tests: DccaTests) -> dict[str, float]:
        model = self.model.to(self.device)
        found = scores.retrieval(model, tests.parallel, self.inputs.score_layer, "test", self.device)
        return found | (self.tuned.test(tests.task) if self.tuned else {})

    def pictures(self) -> list[dict]:
        return losses(self.curves)

    def export(self, request: Request, folder: Path) -> list[Path]:
        """One Hugging Face folder: the encoder with its head for masked words."""
        from seedwise.trainables.dcca.export import export_encoder

        return [export_encoder(self, request, folder / "encoder")]

    def save(self, folder: Path) -> None:
        """Before the encoder is finished its model and optimiser; afterwards the encoder and the classifier."""
        (folder / "progress.json").write_text(json.dumps({"found": self.found, "curves": self.curves}))
        if self.trainer:
            self.trainer.save(folder)
        else:
            weights = {name: one.detach().cpu().numpy() for name, one in self.model.named_parameters()}
            save_file(weights, folder / "encoder.safetensors")
            if self.tuned:
                (folder / "tuned").mkdir(exist_ok=True)
                self.tuned.save(folder / "tuned")

    def load(self, folder: Path) -> None:
        progress = json.loads((folder / "progress.json").read_text())
        self.found, self.curves = progress["found"], progress["curves"]
        if not (folder / "encoder.safetensors").exists():
            self.trainer.load(folder)
            return
        set_weights(self.model, load_file(folder / "encoder.safetensors"), seed=0)
        self.model.cpu().eval()
        self.encoder, self.trainer = encoder_of(self.model, self.inputs.rest), None
        if (folder / "tuned").exists():
            self.tuned = self.classifier()
            self.tuned.load(folder / "tuned")


class Masked(Untouched):
    """Masked words only, for as many steps."""

    options_type = MaskedOptions


class Squares(Untouched):
    """Masked words, and squared distances to static vectors."""

    options_type = MseOptions


class Dcca(Untouched):
    """Masked words, and canonical correlations with static vectors, or whichever alignment the options name."""

    options_type = DccaOptions
    baselines: ClassVar[dict[str, type[Method]]] = {"untouched": Untouched, "mlm": Masked, "mse": Squares}

    @classmethod
    def prepare(cls, request: Request, candidates: Candidates) -> DccaInputs:
        return prepare(request, candidates)

    @classmethod
    def prepare_test(cls, request: Request) -> DccaTests:
        return prepare_test(request)

    @classmethod
    def size(cls, params: dict) -> float:
        """Blocks of full length in the largest forward pass; an isolated word is a few tokens long.

        A configuration without an alignment has no words, one without a classifier nothing to fine-tune.
        """
        return max(params["block_batch"], params.get("tune_batch_size", 0), params.get("word_batch", 0) / 16)
