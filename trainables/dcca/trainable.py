"""A run of continued pretraining: its steps, scores of the encoder, and a classifier fine-tuned from it."""

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
from seedwise.trainables.dcca.export import export_encoder
from seedwise.trainables.dcca.model import encoder_of, masked_model
from seedwise.trainables.dcca.options import DccaOptions, MaskedOptions, MseOptions, UntouchedOptions
from seedwise.trainables.dcca.pictures import losses
from seedwise.trainables.dcca.prepare import DccaInputs, DccaTests, prepare, prepare_test, set_name
from seedwise.trainables.dcca.pretraining import Draws, Pretrainer
from seedwise.trainables.dcca.words import Encoding
from seedwise.trainables.ear.fine_tuning import FineTuning
from seedwise.trainables.method import Method
from seedwise.trainables.request import Request
from seedwise.trainables.streams import Streams
from seedwise.trainables.training.encoder import Encoder, set_weights

# A run reports, and may be checkpointed, after each of ten segments; more segments if each would exceed 50 steps.
SEGMENTS, SEGMENT_STEPS = 10, 50


class Untouched(Method):
    """The encoder as it is, or after continued pretraining: subclasses differ only in their options.

    A run is a number of segments of pretraining, then the epochs of fine-tuning. To the search, each segment and each
    epoch is a step. The encoder is scored once, in between.
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
        self.segment = max(1, min(SEGMENT_STEPS, options.steps // SEGMENTS))  # steps
        self.segments = math.ceil(options.steps / self.segment)
        self.steps = max(1, self.segments + options.tune_epochs)
        self.scores: dict[str, float] = {}  # of the encoder, once it is pretrained
        self.curves: dict[str, list[list[float]]] = {}  # by name of a loss: [step from 0, value]
        self.encoder: Encoder | None = None  # after pretraining
        self.classifier: FineTuning | None = None
        self.model: PreTrainedModel = masked_model(inputs.model, streams.seed("head", 0))
        self.trainer: Pretrainer | None = None
        if options.steps:
            self.trainer = Pretrainer(self.model, options, inputs.masking, device)
            anew = options.block_batch if options.drawn == "anew" else 0
            self.blocks = Draws(len(inputs.blocks), options.blocks, lambda n: streams.seed("order", 0, n), anew=anew)
        if options.alignment != "none":
            self.static = inputs.static[set_name(options.static, inputs.static)]
            self.words = Draws(len(self.static.train), options.words, lambda n: streams.seed("words", 0, n))

    def step(self, number: int) -> dict[str, float]:
        metrics: dict[str, float] = {}
        if number < self.segments:
            metrics = self.pretrain(number)
        if self.encoder is None and number + 1 >= self.segments:
            self.finish_encoder()
        if number >= self.segments and self.options.tune_epochs:
            self.classifier = self.classifier or self.new_classifier()
            metrics = self.classifier.step(number - self.segments)
        return metrics | self.scores

    def pretrain(self, segment: int) -> dict[str, float]:
        """Do the steps of a segment. Each step depends on its number alone, so a run can resume after any segment."""
        totals: dict[str, float] = {}
        steps = range(segment * self.segment, min((segment + 1) * self.segment, self.options.steps))
        for step in steps:
            torch.manual_seed(self.streams.seed("dropout", 0, step))
            static, rows = None, np.empty(0, dtype=np.int64)
            if self.options.alignment != "none":
                static, rows = self.static, self.static.train[self.words.rows(step)]
            blocks = self.inputs.blocks[self.blocks.rows(step)]
            for name, value in self.trainer.step(blocks, self.streams.seed("masks", 0, step), static, rows).items():
                totals[name] = totals.get(name, 0.0) + value
                self.curves.setdefault(name, []).append([step, value])
        metrics = {f"train/{name}": total / len(steps) for name, total in totals.items()}
        return metrics | {"train/steps": float(steps.stop)}

    def finish_encoder(self) -> None:
        """Score the encoder, by the same measures in all runs of the search, and drop its optimiser."""
        self.trainer, inputs, device = None, self.inputs, self.device
        model = self.model.to(device).eval()
        encoding = Encoding(inputs.masking.pad, inputs.score_layer, "pieces", "masked")
        self.scores = scores.masked_words(model, inputs.dev, inputs.masking.pad, device)
        for static in list(inputs.static.values())[:1]:
            self.scores |= scores.correlation(model, static, encoding, device)
        self.scores |= scores.lexicons(model, inputs.lexicon_tests, encoding, device)
        self.scores |= scores.retrieval(model, inputs.parallel, inputs.score_layer, "dev", device)
        self.encoder = encoder_of(model, inputs.rest)
        model.cpu()  # makes room for the classifier

    def new_classifier(self) -> FineTuning:
        """A classifier that starts from the encoder."""
        params = {name: getattr(self.options, f"tune_{name}") for name in ("epochs", "lr", "warmup", "batch_size")}
        return FineTuning(replace(self.inputs.task, encoder=self.encoder), params, self.streams, self.device)

    def test(self, tests: DccaTests) -> dict[str, float]:
        model = self.model.to(self.device)
        metrics = scores.retrieval(model, tests.parallel, self.inputs.score_layer, "test", self.device)
        return metrics | (self.classifier.test(tests.task) if self.classifier else {})

    def pictures(self) -> list[dict]:
        return losses(self.curves)

    def export(self, request: Request, folder: Path) -> list[Path]:
        """One Hugging Face folder: the encoder with its head for masked words."""
        return [export_encoder(self, request, folder / "encoder")]

    def save(self, folder: Path) -> None:
        """Write the model and its optimiser during pretraining, the encoder and the classifier afterwards."""
        (folder / "progress.json").write_text(json.dumps({"found": self.scores, "curves": self.curves}))
        if self.trainer:
            self.trainer.save(folder)
            return
        weights = {name: value.detach().cpu().numpy() for name, value in self.model.named_parameters()}
        save_file(weights, folder / "encoder.safetensors")
        if self.classifier:
            (folder / "tuned").mkdir(exist_ok=True)
            self.classifier.save(folder / "tuned")

    def load(self, folder: Path) -> None:
        progress = json.loads((folder / "progress.json").read_text())
        self.scores, self.curves = progress["found"], progress["curves"]
        if not (folder / "encoder.safetensors").exists():
            self.trainer.load(folder)
            return
        set_weights(self.model, load_file(folder / "encoder.safetensors"), seed=0)
        self.model.cpu().eval()
        self.encoder, self.trainer = encoder_of(self.model, self.inputs.rest), None
        if (folder / "tuned").exists():
            self.classifier = self.new_classifier()
            self.classifier.load(folder / "tuned")


class Masked(Untouched):
    """Continued pretraining on masked words alone."""

    options_type = MaskedOptions


class Mse(Untouched):
    """Continued pretraining on masked words, and on squared distances to static vectors."""

    options_type = MseOptions


class Dcca(Untouched):
    """Continued pretraining on masked words and canonical correlations with static vectors, or another alignment."""

    options_type = DccaOptions
    baselines: ClassVar[dict[str, type[Method]]] = {"untouched": Untouched, "mlm": Masked, "mse": Mse}
    prepare = staticmethod(prepare)
    prepare_test = staticmethod(prepare_test)

    @classmethod
    def size(cls, params: dict) -> float:
        """The number of full-length blocks in the largest forward pass; 16 isolated words count as a block.

        A configuration without an alignment has no words; a configuration without a classifier fine-tunes nothing.
        """
        return max(params["block_batch"], params.get("tune_batch_size", 0), params.get("word_batch", 0) / 16)
