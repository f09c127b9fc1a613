"""The correlation loss against the released one, forward and backward. `python -m benchmarks.dcca_loss`, seconds.

1024 words of 768 dimensions, the released loss written straightforwardly: two full singular value decompositions that
gradients go through. Ours keeps 64 directions, found without gradients. By turns; the fastest turn of each counts.
"""

import argparse
import time

import torch
from torch import Tensor

from seedwise.trainables.dcca.correlation import correlation_loss, reference_loss

WORDS, WIDTH, TOP_K, DIRECTIONS, RIDGE = 1024, 768, 10, 64, 1e-3
GOAL = 10
LOSSES = {
    "released": lambda contextual, static: reference_loss(contextual, static, top_k=TOP_K),
    "ours": lambda contextual, static: correlation_loss(
        contextual, static, top_k=TOP_K, directions=DIRECTIONS, ridge=RIDGE
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="turns of each loss (default: 5)")
    rounds = parser.parse_args().rounds
    views = inputs()
    print(f"{WORDS} words x {WIDTH}, top {TOP_K} of {DIRECTIONS} directions, {torch.get_num_threads()} threads")
    for loss_of in LOSSES.values():
        timed(loss_of, *views)  # ours simulates its chance level at the first call, once for a process
    turns = [{name: timed(loss_of, *views) for name, loss_of in LOSSES.items()} for _ in range(rounds)]
    seconds = {name: min(turn[name] for turn in turns) for name in LOSSES}
    for name, value in seconds.items():
        print(f"  {name:10s} {value:7.3f} s")
    print(f"  released / ours: {seconds['released'] / seconds['ours']:.1f} (goal: {GOAL} or more)")


def inputs() -> tuple[Tensor, Tensor]:
    """Views with a falling spectrum and shared factors, like views of words."""
    draw = torch.Generator().manual_seed(0)
    shared, *own = (torch.randn(WORDS, WIDTH, generator=draw) for _ in range(3))
    scales = torch.arange(1, WIDTH + 1) ** -0.5
    return tuple((shared + noise) * scales for noise in own)


def timed(loss_of, contextual: Tensor, static: Tensor) -> float:
    leaf = contextual.clone().requires_grad_()
    started = time.perf_counter()
    loss_of(leaf, static).backward()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
