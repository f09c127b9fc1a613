"""A training step of EAR against the straightforward one. `python -m benchmarks.ear_step`, five minutes on two cores.

The encoder has mBERT's size (12 layers of 768, random weights), the batch 8 sentences and 8 copies of 128 tokens, one
word each. Straightforward means two passes, eager attention, the maps of all layers kept; ours is one pass over both
streams with shared dropout, SDPA in all layers but one, and selective recomputation. Same optimiser, same losses.

Time is the fastest of a few steps, each kind in a process of its own, by turns. Memory is the peak of the process over
what it holds between two steps, without the optimiser and with a short vocabulary: activations and gradients in the
making, nothing else.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is downloaded; set before transformers is imported

PAIRS, TOKENS, LAYER, CLASSES = 8, 128, 6, 3
VOCABULARY, SHORT = 119_547, 2_000  # of mBERT, and where only activations are measured
KINDS = ("straightforward", "ours")
GOALS = {"time": 1.3, "memory": 1.5}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="processes of each kind, by turns (default: 3)")
    parser.add_argument("--measure", nargs=2, metavar=("KIND", "WHAT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measured(*arguments.measure)))
        return
    print(f"{PAIRS} pairs of {TOKENS} tokens, 12 layers of 768, {os.cpu_count()} cores")
    seconds = {kind: [] for kind in KINDS}
    for _ in range(arguments.rounds):
        for kind in KINDS:
            seconds[kind].append(in_a_process(kind, "time"))
    report("time", "s per step", {kind: min(values) for kind, values in seconds.items()})
    report("memory", "MB of activations at the peak", {kind: in_a_process(kind, "memory") for kind in KINDS})


def report(what: str, unit: str, values: dict[str, float]) -> None:
    for kind, value in values.items():
        print(f"  {kind:16s} {value:8.2f} {unit}")
    print(f"  {what}: {values[KINDS[0]] / values[KINDS[1]]:.2f} times less (goal: {GOALS[what]} or more)", flush=True)


def in_a_process(kind: str, what: str) -> float:
    """Measure in a process of its own; for memory, one that gives back at once what it frees."""
    environment = os.environ | ({"MALLOC_MMAP_THRESHOLD_": "65536"} if what == "memory" else {})
    command = [sys.executable, "-m", "benchmarks.ear_step", "--measure", kind, what]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(found.stdout.splitlines()[-1])


def measured(kind: str, what: str) -> float:
    import torch

    torch.set_num_threads(os.cpu_count() or 1)
    torch.manual_seed(0)
    step = STEPS[kind](VOCABULARY if what == "time" else SHORT, what == "time")
    step()  # the first one allocates gradients and the optimiser's memory
    if what == "time":
        return min(timed(step) for _ in range(3))
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = resident("VmRSS")
    step()
    return (resident("VmHWM") - before) / 1024


def timed(step: Callable[[], None]) -> float:
    started = time.perf_counter()
    step()
    return time.perf_counter() - started


def resident(name: str) -> int:
    """Of this process, in kB: what it has now (VmRSS), or its peak (VmHWM)."""
    return int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def texts() -> tuple:
    """Ids of sentences and copies, a fifth of the tokens replaced, and labels."""
    import torch

    ids = torch.randint(5, SHORT, (PAIRS, TOKENS))
    replaced = torch.rand(ids.shape) < 0.2
    return ids, torch.where(replaced, torch.randint_like(ids, 5, SHORT), ids), torch.randint(CLASSES, (PAIRS,))


def straightforward(vocabulary: int, updates: bool) -> Callable[[], None]:
    """As the losses are written down: one pass for the sentences, one for the copies."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(vocab_size=vocabulary, num_labels=CLASSES)
    model = BertForSequenceClassification._from_config(config, attn_implementation="eager").train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-5, eps=1e-8, weight_decay=0.0, fused=True)
    ids, copies, labels = texts()
    mask = torch.ones_like(ids)

    def step() -> None:
        first, second = (
            model(one, attention_mask=mask, labels=labels, output_hidden_states=True, output_attentions=True)
            for one in (ids, copies)
        )
        push = -(first.hidden_states[0].mean(1) - second.hidden_states[0].mean(1)).square().mean()
        pull = (first.attentions[LAYER - 1] - second.attentions[LAYER - 1]).square().mean()
        (first.loss + second.loss + push + 0.1 * pull).backward()
        if updates:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)

    return step


def ours(vocabulary: int, updates: bool) -> Callable[[], None]:
    """The project's own parts, with the options' defaults."""
    import torch
    from transformers import BertConfig

    from trainables.ear.options import EarOptions
    from trainables.ear.trainable import terms_of
    from trainables.ear.twin import Twin
    from trainables.encoder import Encoder, skeleton
    from trainables.training import Learner

    options = EarOptions(layer=LAYER)
    config = BertConfig(vocab_size=vocabulary).to_dict()
    model = skeleton(Encoder(config, {}), CLASSES)
    twin = Twin(model, maps=LAYER, states=None, shared_dropout=options.shared_dropout)
    learner = Learner(model, options, PAIRS, torch.device("cpu"))
    model.train()
    ids, copies, labels = texts()
    batch = {"input_ids": torch.cat([ids, copies]), "attention_mask": torch.ones(2 * PAIRS, TOKENS, dtype=torch.long)}
    words = torch.arange(TOKENS).expand(2 * PAIRS, -1)

    def step() -> None:
        terms = terms_of(twin(batch), batch["attention_mask"], words, TOKENS, labels, options)
        (terms.robust + options.alpha * terms.push + options.beta * terms.pull).mean().backward()
        if updates:
            learner.update()

    return step


STEPS = {"straightforward": straightforward, "ours": ours}

if __name__ == "__main__":
    main()
