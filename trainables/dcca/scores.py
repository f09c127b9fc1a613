"""Scores of continued pretraining that need no labels.

Predicting masked words and the correlation with held-out static vectors need no translations either; lexicon induction
and sentence retrieval need translations.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize
from transformers import PreTrainedModel

from seedwise.trainables.dcca.correlation import fit
from seedwise.trainables.dcca.masking import mlm_loss
from seedwise.trainables.dcca.words import Encoding, StaticVectors
from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.static.evaluate import lexicon_induction

DIRECTIONS, TOP_K, RIDGE = 64, 10, 1e-3  # of the correlation score: the same for all configurations
BATCH = 64  # words or sentences per forward pass
BLOCK_BATCH = 8  # blocks per forward pass, each with logits over the whole vocabulary for its masked tokens


@dataclass(frozen=True)
class LexiconTest:
    """Words of the source and of a target language with their pieces, and the pairs of words that are translations."""

    source: list[str]
    source_pieces: Encoded
    target: list[str]
    target_pieces: Encoded
    pairs: list[tuple[str, str]]


@torch.inference_mode()
def masked_words(
    model: PreTrainedModel, dev: dict[str, tuple[np.ndarray, np.ndarray]], pad: int, device: torch.device
) -> dict[str, float]:
    """Score each language by `mlm_loss`, in nats per masked token, and `mlm_probability` = exp(-loss).

    `dev` has blocks with masked tokens and the labels of these tokens.
    """
    metrics = {}
    for language, (masked, labels) in dev.items():
        total = 0.0
        for start in range(0, len(masked), BLOCK_BATCH):
            parts = [part[start : start + BLOCK_BATCH].astype(np.int64) for part in (masked, labels)]
            total += mlm_loss(model, *(torch.from_numpy(part).to(device) for part in parts), pad).item()
        loss = total / int((labels >= 0).sum())
        metrics |= {f"dev/mlm_loss/{language}": loss, f"dev/mlm_probability/{language}": math.exp(-loss)}
    return metrics


def correlation(
    model: PreTrainedModel, static: StaticVectors, encoding: Encoding, device: torch.device
) -> dict[str, float]:
    """Score each language by `correlation`: of held-out words with their static vectors, in directions of other words.

    The directions are fitted on words of all languages together, so a language scores high if its words share the other
    languages' directions. The measured words are not used for fitting, so the chance level is 0.
    """
    encoded = {}
    for name, parts in (("fitted", static.fitted), ("measured", static.measured)):
        rows = np.concatenate(list(parts.values()))
        encoded[name] = vectors(model, static.pieces, rows, encoding, device), torch.from_numpy(static.table[rows])
    words, width = encoded["fitted"][0].shape
    directions = min(DIRECTIONS, width, static.table.shape[1], words // 4)
    fitted = fit(*encoded["fitted"], directions=directions, top_k=min(TOP_K, directions), ridge=RIDGE)
    parts = [part.split([len(rows) for rows in static.measured.values()]) for part in encoded["measured"]]
    return {
        f"dev/correlation/{language}": fitted.measure(*views)
        for language, *views in zip(static.measured, *parts, strict=True)
    }


def lexicons(
    model: PreTrainedModel, tests: dict[str, LexiconTest], encoding: Encoding, device: torch.device
) -> dict[str, float]:
    """Lexicon induction with the encoder's vectors of isolated words: `lexicon` is precision at 1 with CSLS."""
    metrics = {}
    for language, test in tests.items():
        source, target = (
            vectors(model, pieces, np.arange(len(pieces)), encoding, device).numpy()
            for pieces in (test.source_pieces, test.target_pieces)
        )
        shares = lexicon_induction(test.source, source, test.target, target, test.pairs)
        metrics |= {f"dev/lexicon_{name}/{language}": value for name, value in shares.items()}
        metrics[f"dev/lexicon/{language}"] = shares["csls_p1"]
    return metrics


def retrieval(
    model: PreTrainedModel,
    parallel: dict[str, tuple[Encoded, Encoded]],
    layer: int | str,
    split: str,
    device: torch.device,
) -> dict[str, float]:
    """The share of sentences whose nearest neighbour by cosine, among all of the other language, is its translation.

    Sentences are means over all positions of a layer, special tokens included, as in XTREME. `retrieval_to_source`
    searches the source sentences for each target sentence; `retrieval_from_source` is the reverse, as in XTREME;
    `retrieval` is the mean of both shares.
    """
    metrics = {}
    encoding = Encoding(pad=-1, layer=layer, pooling="all", padding="masked")
    for language, sides in parallel.items():
        target, source = (
            normalize(vectors(model, side, np.arange(len(side)), encoding, device), dim=1) for side in sides
        )
        cosines = target @ source.T
        own = torch.arange(len(cosines))
        shares = {
            "to_source": (cosines.argmax(1) == own).double().mean().item(),
            "from_source": (cosines.argmax(0) == own).double().mean().item(),
        }
        metrics |= {f"{split}/retrieval_{name}/{language}": share for name, share in shares.items()}
        metrics[f"{split}/retrieval/{language}"] = sum(shares.values()) / 2
    return metrics


@torch.inference_mode()
def vectors(
    model: PreTrainedModel, pieces: Encoded, rows: np.ndarray, encoding: Encoding, device: torch.device
) -> Tensor:
    """The vectors of isolated words or of sentences, in the order of `rows`, on the host."""
    order = np.argsort(pieces.lengths[rows], kind="stable")
    parts = np.split(rows[order], range(BATCH, len(rows), BATCH))
    encoded = [encoding(model, encoding.batch(pieces, part, device)).float().cpu() for part in parts]
    return torch.cat(encoded)[np.argsort(order)]
