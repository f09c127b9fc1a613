"""Gradient caching over 1024 words against none. `python -m benchmarks.pretrain_step`, three minutes on two cores.

The encoder has the size of XLM-R base (12 layers of 768, random weights, a short vocabulary); words have the lengths
that sub-word tokenizers give them, and are ordered by length in all cases. Memory: the peak of a process over what it
holds between two steps, caching 1024 words in micro-batches of 64, against the longest 64 of them alone. Time: one loss
over all 1024, against a loss for each micro-batch; by turns, the fastest counts. No optimiser: it is the same for both.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is downloaded; set before transformers is imported

import torch
from torch import Tensor
from transformers import XLMRobertaConfig, XLMRobertaModel

from seedwise.trainables.dcca.correlation import correlation_loss
from seedwise.trainables.dcca.pretraining import cached_backward

WORDS, SIZE, VOCABULARY, WIDTH = 1024, 64, 2_000, 768
SHARES = {3: 0.20, 4: 0.45, 5: 0.22, 6: 0.08, 7: 0.03, 9: 0.01, 12: 0.007, 20: 0.003}  # of words, by their tokens
GOALS = {"memory": 1.2, "time": 1.6}
CPU = torch.device("cpu")

Batch = dict[str, Tensor]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2, help="turns of each kind for the time (default: 2)")
    parser.add_argument("--memory-of", choices=("cached", "plain"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory_of:
        print(json.dumps(memory(arguments.memory_of)))
        return
    print(
        f"{WORDS} words in micro-batches of {SIZE}, 12 layers of {WIDTH}, {torch.get_num_threads()} threads", flush=True
    )
    report("memory", "MB at the peak", {kind: in_a_process(kind) for kind in ("plain", "cached")})
    model, batches = encoder(), words()
    plain(model, batches[-1:])  # the first one allocates gradients
    cached(model, batches[:4])
    steps = {"plain": plain, "cached": cached}
    turns = [{kind: timed(step, model, batches) for kind, step in steps.items()} for _ in range(arguments.rounds)]
    report("time", "s per update", {kind: min(turn[kind] for turn in turns) for kind in steps})


def report(what: str, unit: str, values: dict[str, float]) -> None:
    for kind, value in values.items():
        print(f"  {kind:8s} {value:8.2f} {unit}")
    print(f"  {what}: {values['cached'] / values['plain']:.2f} times plain (goal: at most {GOALS[what]})", flush=True)


def in_a_process(kind: str) -> float:
    """Memory of a process whose allocator returns freed memory at once."""
    command = [sys.executable, "-m", "benchmarks.pretrain_step", "--memory-of", kind]
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def memory(kind: str) -> float:
    model, batches = encoder(), words()
    plain(model, batches[:1])
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = resident("VmRSS")
    if kind == "cached":
        cached(model, batches)
    else:
        plain(model, batches[-1:])
    return (resident("VmHWM") - before) / 1024


def resident(name: str) -> int:
    """Memory of this process in kB: now (VmRSS) or at its peak (VmHWM)."""
    return int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def timed(step, model: XLMRobertaModel, batches: list[Batch]) -> float:
    started = time.perf_counter()
    step(model, batches)
    return time.perf_counter() - started


def encoder() -> XLMRobertaModel:
    torch.manual_seed(0)
    return XLMRobertaModel(XLMRobertaConfig(vocab_size=VOCABULARY), add_pooling_layer=False).train()


def words() -> list[Batch]:
    """Micro-batches from the shortest words to the longest, each cut to its longest."""
    draw = torch.Generator().manual_seed(0)
    chosen = torch.multinomial(torch.tensor([*SHARES.values()]), WORDS, replacement=True, generator=draw)
    batches = []
    for lengths in torch.tensor([*SHARES])[chosen].sort().values.split(SIZE):
        longest = int(lengths.max())
        mask = (torch.arange(longest) < lengths[:, None]).long()
        ids = torch.randint(5, VOCABULARY, mask.shape, generator=draw)
        batches.append({"input_ids": torch.where(mask > 0, ids, 1), "attention_mask": mask})
    return batches


def encode(model: XLMRobertaModel, batch: Batch) -> Tensor:
    weights = batch["attention_mask"][..., None].float()
    return (model(**batch).last_hidden_state * weights).sum(1) / weights.sum(1)


def static(count: int) -> Tensor:
    return torch.randn(count, WIDTH, generator=torch.Generator().manual_seed(1))


def plain(model: XLMRobertaModel, batches: list[Batch]) -> None:
    """A loss for each micro-batch, with as many directions as it allows."""
    for batch in batches:
        encodings = encode(model, batch)
        loss = correlation_loss(encodings, static(len(encodings)), top_k=10, directions=16, ridge=1e-4)
        (loss / len(batches)).backward()


def cached(model: XLMRobertaModel, batches: list[Batch]) -> None:
    """One loss over all micro-batches."""

    def loss_of(encodings: Tensor) -> Tensor:
        return correlation_loss(encodings, static(len(encodings)), top_k=10, directions=64, ridge=1e-4)

    cached_backward(lambda batch: encode(model, batch), batches, loss_of, device=CPU)


if __name__ == "__main__":
    main()
