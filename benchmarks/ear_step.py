"""A training step of EAR against the straightforward one. `python -m benchmarks.ear_step`, six minutes on two cores.

The encoder has mBERT's size (12 layers of 768, random weights), a batch 8 sentences and 8 copies. Straightforward means
two passes, eager attention, the maps of all layers kept, everything padded to 128 tokens; ours is one pass over both
streams with shared dropout, SDPA in all layers but one, and selective recomputation. Same optimiser, same losses. Two
kinds of batches: 128 words of one token each, and the lengths of XNLI's English pairs, an update of 4 batches as the
paper's scripts have it, where ours orders them by length and cuts each to its longest (needs data/xnli and
models/minimulti in $SEEDWISE_DATA, default ../shared).

Time is the fastest of a few updates, each kind in a process of its own, by turns. Memory is the peak of the process
over what it holds between two steps, without the optimiser and with a short vocabulary: activations and gradients in
the making, nothing else.
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
BATCHES = 4  # of an update on XNLI's lengths
DATA = Path(os.environ.get("SEEDWISE_DATA", "../shared"))
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
    compare("time", "s per step", arguments.rounds)
    compare("memory", "MB of activations at the peak", 1)
    if (DATA / "data/xnli/dev-en.tsv").is_file() and (DATA / "models/minimulti").is_dir():
        compare("xnli", f"s per update of {BATCHES} batches with XNLI's lengths", 1)
    else:
        print(f"  XNLI's lengths: left out, {DATA} has no data/xnli/dev-en.tsv or models/minimulti")


def compare(what: str, unit: str, rounds: int) -> None:
    values: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(rounds):
        for kind in KINDS:
            values[kind].append(in_a_process(kind, what))
    report(what, unit, {kind: min(figures) for kind, figures in values.items()})


def report(what: str, unit: str, values: dict[str, float]) -> None:
    for kind, value in values.items():
        print(f"  {kind:16s} {value:8.2f} {unit}")
    goal = f" (goal: {GOALS[what]} or more)" if what in GOALS else ""
    print(f"  {what}: {values[KINDS[0]] / values[KINDS[1]]:.2f} times less{goal}", flush=True)


def in_a_process(kind: str, what: str) -> float:
    """Measure in a separate process; for memory, with an allocator that returns freed memory at once."""
    environment = os.environ | ({"MALLOC_MMAP_THRESHOLD_": "65536"} if what == "memory" else {})
    command = [sys.executable, "-m", "benchmarks.ear_step", "--measure", kind, what]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def measured(kind: str, what: str) -> float:
    import torch

    torch.set_num_threads(os.cpu_count() or 1)
    torch.manual_seed(0)
    lengths = xnli_lengths() if what == "xnli" else [[TOKENS] * PAIRS]
    step = STEPS[kind](SHORT if what == "memory" else VOCABULARY, lengths, what != "memory")
    step()  # the first one allocates gradients and the optimiser's memory
    if what != "memory":
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
    """Memory of this process in kB: now (VmRSS) or at its peak (VmHWM)."""
    return int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def xnli_lengths() -> list[list[int]]:
    """Tokens of the first pairs of XNLI's English dev set, a list for each batch."""
    from transformers import AutoTokenizer

    lines = (DATA / "data/xnli/dev-en.tsv").read_text(encoding="utf-8").splitlines()[:: 3 * PAIRS][: BATCHES * PAIRS]
    tokenizer = AutoTokenizer.from_pretrained(DATA / "models/minimulti")
    lengths = [len(tokenizer(*line.split("\t")[:2], truncation=True, max_length=TOKENS)["input_ids"]) for line in lines]
    return [lengths[start : start + PAIRS] for start in range(0, len(lengths), PAIRS)]


def texts(lengths: list[int], width: int) -> tuple:
    """Ids of sentences and copies, a fifth of the tokens replaced, their mask, and labels."""
    import torch

    ids = torch.randint(5, SHORT, (PAIRS, width))
    replaced = torch.rand(ids.shape) < 0.2
    copies = torch.where(replaced, torch.randint_like(ids, 5, SHORT), ids)
    mask = (torch.arange(width) < torch.tensor(lengths)[:, None]).long()
    return ids, copies, mask, torch.randint(CLASSES, (PAIRS,))


def straightforward(vocabulary: int, lengths: list[list[int]], updates: bool) -> Callable[[], None]:
    """The losses as published: one pass for the sentences, one for the copies."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(vocab_size=vocabulary, num_labels=CLASSES)
    model = BertForSequenceClassification._from_config(config, attn_implementation="eager").train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-5, eps=1e-8, weight_decay=0.0, fused=True)
    batches = [texts(of_batch, TOKENS) for of_batch in lengths]

    def mean(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)

    def step() -> None:
        for ids, copies, mask, labels in batches:
            first, second = (
                model(batch_ids, attention_mask=mask, labels=labels, output_hidden_states=True, output_attentions=True)
                for batch_ids in (ids, copies)
            )
            push = -(mean(first.hidden_states[0], mask) - mean(second.hidden_states[0], mask)).square().mean()
            pull = (first.attentions[LAYER - 1] - second.attentions[LAYER - 1]).square().mean()
            ((first.loss + second.loss + push + 0.1 * pull) / len(batches)).backward()
            del first, second, push, pull
        if updates:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)

    return step


def ours(vocabulary: int, lengths: list[list[int]], updates: bool) -> Callable[[], None]:
    """The project's own parts, with the options' defaults."""
    import torch
    from transformers import BertConfig

    from seedwise.trainables.ear.options import EarOptions
    from seedwise.trainables.ear.trainable import terms_of
    from seedwise.trainables.ear.two_stream import TwoStream
    from seedwise.trainables.training.encoder import Encoder, skeleton
    from seedwise.trainables.training.learner import Learner

    options = EarOptions(layer=LAYER)
    model = skeleton(Encoder(BertConfig(vocab_size=vocabulary).to_dict(), {}), CLASSES)
    two_stream = TwoStream(model, maps=LAYER, states=None, shared_dropout=options.shared_dropout)
    learner = Learner(model, options, PAIRS, torch.device("cpu"))
    model.train()
    ordered = sorted(length for of_batch in lengths for length in of_batch)
    parts = [ordered[start : start + PAIRS] for start in range(0, len(ordered), PAIRS)]
    batches = [texts(of_batch, max(of_batch)) for of_batch in parts]

    def step() -> None:
        for ids, copies, mask, labels in batches:
            both = {"input_ids": torch.cat([ids, copies]), "attention_mask": torch.cat([mask, mask])}
            words = torch.where(both["attention_mask"] > 0, torch.arange(ids.shape[1]), -1)
            output, mask = two_stream(both), both["attention_mask"]
            robust, push, pull = terms_of(output, mask, words, ids.shape[1], labels, options)
            total = robust + options.alpha * push + options.beta * pull
            (total.mean() / len(batches)).backward()
        if updates:
            learner.update()

    return step


STEPS = {"straightforward": straightforward, "ours": ours}

if __name__ == "__main__":
    main()
