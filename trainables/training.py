"""Fine-tuning with the options that all methods share: optimiser, schedule, precision, freezing, epoch by epoch."""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts
from transformers import PreTrainedModel

from trainables.base import RunFailed
from trainables.inputs.text import Encoded
from trainables.options import TrainingOptions

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}

PRODUCTS = (torch.ops.aten.mm.default, torch.ops.aten.addmm.default)  # what selective checkpointing keeps

Batch = dict[str, Tensor]


class Sized(Protocol):
    """A training set, as far as its order goes: how many examples, and their lengths in tokens."""

    lengths: np.ndarray

    def __len__(self) -> int: ...


class Learner:
    """A model under training. `examples` sizes the schedule: updates per epoch times epochs."""

    def __init__(self, model: PreTrainedModel, options: TrainingOptions, examples: int, device: torch.device):
        self.model, self.options, self.device = model.to(device), options, device
        freeze(model, options)
        if options.gradient_checkpointing:
            settings: dict[str, Any] = {"use_reentrant": False}
            if options.gradient_checkpointing == "selective":
                settings["context_fn"] = partial(create_selective_checkpoint_contexts, keep_products)
            model.gradient_checkpointing_enable(settings)
        decayed = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
        plain = [p for p in model.parameters() if p.requires_grad and p.dim() <= 1]
        groups = [{"params": decayed, "weight_decay": options.weight_decay}, {"params": plain, "weight_decay": 0.0}]
        self.optimiser = torch.optim.AdamW(groups, lr=options.lr, eps=1e-8, fused=True)
        updates = options.epochs * updates_per_epoch(examples, options)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimiser, lambda step: rate(step, updates, options))
        self.scaler = torch.amp.GradScaler(device.type, enabled=options.precision == "fp16")

    def epoch(self, data: Encoded, *, order: int, dropout: int, loss_of: Callable[[Batch], Tensor]) -> float:
        """One pass over `data`; see `pass_over`. `loss_of` gets a batch and gives its mean loss."""
        return self.pass_over(
            data, order=order, dropout=dropout, loss_of=lambda rows: loss_of(batch_of(data, rows, self.device))
        )

    def pass_over(self, data: Sized, *, order: int, dropout: int, loss_of: Callable[[np.ndarray], Tensor]) -> float:
        """One pass over `data`, shuffled by the seed `order`, with dropout drawn from the seed `dropout`.

        `loss_of` gets the numbers of a few examples, and gives their mean loss. Both seeds are set here and nowhere
        else, so an epoch does not depend on what this process did before it. Returns the mean loss per example; a loss
        that is not finite ends the run.
        """
        torch.manual_seed(dropout)
        self.model.train()
        permutation = np.random.default_rng(order).permutation(len(data))
        size, group = self.options.batch_size, self.options.batch_size * self.options.accumulation
        total = 0.0
        for start in range(0, len(data), group):
            chosen = by_length(data, permutation[start : start + group])
            for first in range(0, len(chosen), size):
                rows = chosen[first : first + size]
                with self.autocast():
                    loss = loss_of(rows)
                self.scaler.scale(loss * (len(rows) / len(chosen))).backward()
                total += loss.item() * len(rows)
            if not math.isfinite(total):
                raise RunFailed("nan", f"the training loss is {total}")
            self.update()
        return total / len(data)

    def update(self) -> None:
        if self.options.clip:
            self.scaler.unscale_(self.optimiser)
            nn.utils.clip_grad_norm_(self.model.parameters(), self.options.clip)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        self.optimiser.zero_grad(set_to_none=True)
        self.schedule.step()

    def predict(self, data: Encoded, *, table: Tensor | None = None, batch_size: int = 64) -> np.ndarray:
        """The most likely class of every example, without dropout.

        With a `table`, ids are its rows and the model's own word table is not used. The model then sees vectors and no
        ids, so one that reads meaning into ids (RoBERTa counts positions from its padding id) cannot misread them.
        """
        self.model.eval()
        order, found = by_length(data, np.arange(len(data))), []
        with torch.inference_mode(), self.autocast():
            for first in range(0, len(order), batch_size):
                batch = batch_of(data, order[first : first + batch_size], self.device)
                batch.pop("labels")
                if table is not None:
                    batch["inputs_embeds"] = nn.functional.embedding(batch.pop("input_ids"), table)
                found.append(self.model(**batch).logits.argmax(-1).cpu().numpy())
        predicted = np.empty(len(data), dtype=np.int64)
        predicted[order] = np.concatenate(found)
        return predicted

    def move(self, device: torch.device) -> None:
        """Take the model and the optimiser's memory to a device, or back to the host to make room there."""
        self.model.to(device)
        for state in self.optimiser.state.values():
            state |= {name: value.to(device) for name, value in state.items() if isinstance(value, Tensor)}

    def autocast(self) -> torch.autocast:
        precision = self.options.precision
        # Without a cache: a pass that finds weights cast by an earlier one is not what a checkpoint would repeat.
        return torch.autocast(
            self.device.type, dtype=DTYPES.get(precision), enabled=precision != "fp32", cache_enabled=False
        )

    def save(self, folder: Path) -> None:
        """Weights as safetensors; the optimiser's state beside them."""
        save_file(
            {name: value.contiguous() for name, value in self.model.state_dict().items()}, folder / "model.safetensors"
        )
        rest = {"optimiser": self.optimiser, "schedule": self.schedule, "scaler": self.scaler}
        torch.save({name: part.state_dict() for name, part in rest.items()}, folder / "optimiser.pt")

    def load(self, folder: Path) -> None:
        self.model.load_state_dict(load_file(folder / "model.safetensors", device=str(self.device)))
        rest = torch.load(folder / "optimiser.pt", map_location=self.device, weights_only=True)
        self.optimiser.load_state_dict(rest["optimiser"])
        self.schedule.load_state_dict(rest["schedule"])
        self.scaler.load_state_dict(rest["scaler"])


def updates_per_epoch(examples: int, options: TrainingOptions) -> int:
    """Updates, not micro-batches: a schedule sized in the wrong unit ends far from zero."""
    return math.ceil(examples / (options.batch_size * options.accumulation))


def rate(step: int, updates: int, options: TrainingOptions) -> float:
    """The learning rate at an update, as a share of its peak."""
    warm = options.warmup * updates
    if step < warm:
        return (step + 1) / (warm + 1)
    progress = min(1.0, (step - warm) / max(1.0, updates - warm))
    return {"linear": 1 - progress, "cosine": (1 + math.cos(math.pi * progress)) / 2, "constant": 1.0}[options.schedule]


def freeze(model: PreTrainedModel, options: TrainingOptions) -> None:
    """Switch off gradients of the word table and of the lowest layers, as the options say."""
    if options.freeze_embeddings:
        model.get_input_embeddings().requires_grad_(False)
    if options.freeze_layers:
        layers = next((m for m in model.base_model.modules() if isinstance(m, nn.ModuleList)), [])
        if options.freeze_layers > len(layers):
            raise ValueError(f"freeze_layers: {options.freeze_layers}, but the encoder has {len(layers)} layers")
        for layer in layers[: options.freeze_layers]:
            layer.requires_grad_(False)


def keep_products(context: Any, operation: Any, *arguments: Any, **options: Any) -> CheckpointPolicy:
    """Matrix products are what a pass costs: they are kept, all that is made of them is computed once more."""
    return CheckpointPolicy.MUST_SAVE if operation in PRODUCTS else CheckpointPolicy.PREFER_RECOMPUTE


def by_length(data: Sized, chosen: np.ndarray) -> np.ndarray:
    """Examples of one update, or of none, in the order of their lengths: batches of alike ones have little padding."""
    return chosen[np.argsort(data.lengths[chosen], kind="stable")]


def batch_of(data: Encoded, rows: np.ndarray, device: torch.device) -> Batch:
    """A batch of these examples, cut to its longest one."""
    lengths = torch.from_numpy(data.lengths[rows])
    longest = int(lengths.max())
    batch = {
        "input_ids": torch.from_numpy(data.ids[rows, :longest].astype(np.int64)),
        "attention_mask": (torch.arange(longest) < lengths[:, None]).long(),
        "labels": torch.from_numpy(data.labels[rows]),
    }
    if data.types is not None:
        batch["token_type_ids"] = torch.from_numpy(data.types[rows, :longest].astype(np.int64))
    return {name: value.to(device) for name, value in batch.items()}
