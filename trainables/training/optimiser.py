"""Updating a model: optimiser, schedule, precision, freezing, checkpoints. The loss is defined elsewhere."""

import math
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_model, save_model
from torch import Tensor, nn
from torch.utils.checkpoint import create_selective_checkpoint_contexts
from transformers import PreTrainedModel

from seedwise.trainables.method import RunFailed
from seedwise.trainables.training.options import OptimiserOptions

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}

# Selective checkpointing keeps the results of matrix products, which are most of the cost of a forward pass.
MATRIX_PRODUCTS = [torch.ops.aten.mm.default, torch.ops.aten.addmm.default]


class Trainer:
    """A model in training for a number of `updates`, which sets the length of the schedule."""

    def __init__(self, model: PreTrainedModel, options: OptimiserOptions, updates: int, device: torch.device):
        self.model, self.options, self.device = model.to(device), options, device
        freeze(model, options)
        if options.gradient_checkpointing:
            settings: dict[str, Any] = {"use_reentrant": False}
            if options.gradient_checkpointing == "selective":
                settings["context_fn"] = partial(create_selective_checkpoint_contexts, MATRIX_PRODUCTS)
            model.gradient_checkpointing_enable(settings)
        decayed = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
        plain = [p for p in model.parameters() if p.requires_grad and p.dim() <= 1]
        groups = [{"params": decayed, "weight_decay": options.weight_decay}, {"params": plain, "weight_decay": 0.0}]
        self.optimiser = torch.optim.AdamW(groups, lr=options.lr, eps=1e-8, fused=True)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimiser, lambda step: rate(step, updates, options))
        self.scaler = torch.amp.GradScaler(device.type, enabled=options.precision == "fp16")

    def update(self) -> None:
        if self.options.clip:
            self.scaler.unscale_(self.optimiser)
            norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.options.clip)
            if not (self.scaler.is_enabled() or norm.isfinite()):  # fp16 skips this step and lowers its scale
                raise RunFailed("nan", f"the norm of the gradient is {norm.item()}")
        self.scaler.step(self.optimiser)
        self.scaler.update()
        self.optimiser.zero_grad(set_to_none=True)
        self.schedule.step()

    def move(self, device: torch.device) -> None:
        """Move the model and the optimiser's state to a device, or to the host to free the device's memory."""
        self.model.to(device)
        for state in self.optimiser.state.values():
            state |= {name: value.to(device) for name, value in state.items() if isinstance(value, Tensor)}

    def autocast(self) -> torch.autocast:
        precision = self.options.precision
        # No cache: a forward pass that reuses weights cast earlier differs from its recomputation by a checkpoint.
        return torch.autocast(
            self.device.type, dtype=DTYPES.get(precision), enabled=precision != "fp32", cache_enabled=False
        )

    def save(self, folder: Path) -> None:
        """Write the weights as safetensors, and the optimiser's state beside the weights."""
        save_model(self.model, str(folder / "model.safetensors"))  # writes tied tables once
        rest = {"optimiser": self.optimiser, "schedule": self.schedule, "scaler": self.scaler}
        torch.save({name: part.state_dict() for name, part in rest.items()}, folder / "optimiser.pt")

    def load(self, folder: Path) -> None:
        load_model(self.model, folder / "model.safetensors", device=str(self.device))
        rest = torch.load(folder / "optimiser.pt", map_location=self.device, weights_only=True)
        self.optimiser.load_state_dict(rest["optimiser"])
        self.schedule.load_state_dict(rest["schedule"])
        self.scaler.load_state_dict(rest["scaler"])


def rate(step: int, updates: int, options: OptimiserOptions) -> float:
    """The learning rate at an update, relative to its peak."""
    warm = options.warmup * updates
    if step < warm:
        return (step + 1) / (warm + 1)
    progress = min(1.0, (step - warm) / max(1.0, updates - warm))
    return {"linear": 1 - progress, "cosine": (1 + math.cos(math.pi * progress)) / 2, "constant": 1.0}[options.schedule]


def freeze(model: PreTrainedModel, options: OptimiserOptions) -> None:
    """Freeze the word table and the lowest layers, as the options say."""
    if options.freeze_embeddings:
        model.get_input_embeddings().requires_grad_(False)
    if options.freeze_layers:
        layers = next((m for m in model.base_model.modules() if isinstance(m, nn.ModuleList)), [])
        if options.freeze_layers > len(layers):
            raise ValueError(f"freeze_layers: {options.freeze_layers}, but the encoder has {len(layers)} layers")
        for layer in layers[: options.freeze_layers]:
            layer.requires_grad_(False)
