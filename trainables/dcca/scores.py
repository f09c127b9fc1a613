"""What continued pretraining is judged by, besides a classifier: none of it needs a label.

Guessing hidden words and the correlation with held-out static vectors need no translations either; lexicon induction
and sentence retrieval do.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from seedwise.trainables.dcca.correlation import fit
from seedwise.trainables.dcca.masking import guessing_loss
from seedwise.trainables.dcca.words import Encoding, Pieces, Static
from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.static.evaluate import lexicon_induction
from seedwise.trainables.training.learner import by_length

DIRECTIONS, TOP_K, RIDGE = 64, 10, 1e-3  # of the correlation that is a score: the same for all configurations
BATCH = 64  # words or sentences per forward pass
BLOCK_BATCH = 8  # blocks per forward pass, each with logits over the whole vocabulary for its hidden tokens


@dataclass(frozen=True)
class Hidden:
    """Blocks with hidden tokens and the labels of these: drawn once, the same for every run (D11)."""

    ids: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True)
class Probe:
    """Words of the source and of a target language, and the pairs of rows that translate each other."""

    source: list[str]
    source_pieces: Pieces
    target: list[str]
    target_pieces: Pieces
    pairs: list[tuple[str, str]]


@torch.inference_mode()
def guessing(model: PreTrainedModel, dev: dict[str, Hidden], pad: int, device: torch.device) -> dict[str, float]:
    """`mlm_loss`, nats per hidden token, and `mlm_probability` = exp(-loss), of each language."""
    metrics = {}
    for language, hidden in dev.items():
        total = 0.0
        for start in range(0, len(hidden.ids), BLOCK_BATCH):
            parts = [part[start : start + BLOCK_BATCH].astype(np.int64) for part in (hidden.ids, hidden.labels)]
            ids, labels = (torch.from_numpy(part).to(device) for part in parts)
            total += guessing_loss(model, ids, labels, pad).item()
        loss = total / int((hidden.labels >= 0).sum())
        metrics |= {f"dev/mlm_loss/{language}": loss, f"dev/mlm_probability/{language}": math.exp(-loss)}
    return metrics


def correlation(model: PreTrainedModel, static: Static, encoding: Encoding, device: torch.device) -> dict[str, float]:
    """`correlation` of each language: of held-out words with their static vectors, in directions of other words.

    The directions are fitted on words of all languages together; a language scores where its words lie in them as the
    others' do. Of words that were not fitted on, chance level is 0.
    """
    encoded = {}
    for name, parts in (("fitted", static.fitted), ("measured", static.measured)):
        rows = np.concatenate(list(parts.values()))
        encoded[name] = vectors(model, static.pieces, rows, encoding, device), torch.from_numpy(static.table[rows])
    words, width = encoded["fitted"][0].shape
    directions = min(DIRECTIONS, width, static.table.shape[1], words // 4)
    found = fit(*encoded["fitted"], directions=directions, top_k=min(TOP_K, directions), ridge=RIDGE)
    metrics, start = {}, 0
    for language, rows in static.measured.items():
        of_language = slice(start, start + len(rows))
        start += len(rows)
        metrics[f"dev/correlation/{language}"] = found.measure(*(part[of_language] for part in encoded["measured"]))
    return metrics


def lexicons(
    model: PreTrainedModel, probes: dict[str, Probe], encoding: Encoding, device: torch.device
) -> dict[str, float]:
    """Lexicon induction with the encoder's own vectors of isolated words: `lexicon` is precision at 1 with CSLS."""
    metrics = {}
    for language, probe in probes.items():
        sides = [
            vectors(model, pieces, np.arange(len(pieces)), encoding, device).numpy()
            for pieces in (probe.source_pieces, probe.target_pieces)
        ]
        found = lexicon_induction(probe.source, sides[0], probe.target, sides[1], probe.pairs)
        metrics |= {f"dev/lexicon_{name}/{language}": value for name, value in found.items()}
        metrics[f"dev/lexicon/{language}"] = found["csls_p1"]
    return metrics


def retrieval(
    model: PreTrainedModel,
    parallel: dict[str, tuple[Encoded, Encoded]],
    layer: int | str,
    split: str,
    device: torch.device,
) -> dict[str, float]:
    """Which share of sentences has its translation as nearest neighbour by cosine, among all of the other language.

    Sentences are means over all positions of a layer, special ones included, as XTREME has it. `retrieval_to_source`:
    a target sentence looks among those of the source; `retrieval_from_source`: the other way, which is XTREME's;
    `retrieval`: the mean of both.
    """
    metrics = {}
    for language, sides in parallel.items():
        target, source = (torch.nn.functional.normalize(sentences(model, side, layer, device), dim=1) for side in sides)
        cosines = target @ source.T
        own = torch.arange(len(cosines))
        shares = {
            "to_source": (cosines.argmax(1) == own).double().mean().item(),
            "from_source": (cosines.argmax(0) == own).double().mean().item(),
        }
        metrics |= {f"{split}/retrieval_{name}/{language}": share for name, share in shares.items()}
        metrics[f"{split}/retrieval/{language}"] = sum(shares.values()) / 2
    return metrics


def vectors(
    model: PreTrainedModel, pieces: Pieces, rows: np.ndarray, encoding: Encoding, device: torch.device
) -> Tensor:
    """The vectors of isolated words, in the order of `rows`, on the host."""
    return in_order(pieces, rows, lambda part: encoding(model, encoding.batch(pieces, part, device)))


def sentences(model: PreTrainedModel, data: Encoded, layer: int | str, device: torch.device) -> Tensor:
    """Sentences as means of a layer's states, on the host."""
    encoding = Encoding(pad=-1, layer=layer, pooling="all", padding="masked")
    return vectors(model, Pieces(data.ids, data.lengths), np.arange(len(data)), encoding, device)


@torch.inference_mode()
def in_order(data: Pieces, rows: np.ndarray, encode: Callable[[np.ndarray], Tensor]) -> Tensor:
    """What `encode` makes of rows, in their order; it gets those of like lengths together."""
    places = by_length(data.lengths, rows)
    found = torch.cat([encode(places[start : start + BATCH]).float().cpu() for start in range(0, len(rows), BATCH)])
    return found[np.argsort(np.argsort(data.lengths[rows], kind="stable"), kind="stable")]
