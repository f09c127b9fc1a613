"""Extracts word vectors from a frozen encoder: X2Static at sentence level (section 3 of the paper).

Only a table of word vectors is trained. A word of a sentence is predicted from the mean of the encoder's states of that
sentence, against words drawn at random. The encoder reads text as X2Static's released code prepares it: split,
lower-cased, and joined by spaces.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TimeRemainingColumn

from seedwise.errors import RequestError
from seedwise.trainables.inputs.cache import content_hash
from seedwise.trainables.inputs.words import Words
from seedwise.trainables.static.contexts import FrozenEncoder
from seedwise.trainables.static.corpus import LeftOut, sentences
from seedwise.trainables.static.options import ExtractOptions
from seedwise.trainables.static.training import Training
from seedwise.trainables.static.vocabulary import count_words
from seedwise.trainables.static.write import write_vectors
from seedwise.trainables.training.device import set_up
from seedwise.trainables.training.encoder import load_encoder

VERSION = 1  # of the training: checkpoints of another version are not used


@dataclass(frozen=True)
class Summary:
    """Counts of what an extraction read, left out and wrote."""

    words: int  # written
    sentences: int  # read in each epoch
    left_out: tuple[str, ...]  # sentences and words, by reason
    loss: float  # mean per target word over the last epoch


def extract(
    encoder_name: str,
    text: Path,
    language: str,
    to: Path,
    options: ExtractOptions,
    seed: int,
    console: Console | None = None,
) -> Summary:
    """Train vectors of the words of a text and write them to `to` in fastText's text format, compressed if it is .gz.

    A word that never became a target was at most pushed away from sentences: it is left out, and counted. Checkpoints
    are kept beside `to`. After an interruption the same call resumes from the checkpoint and writes the same bytes as
    without an interruption; a checkpoint of other options or data is reported and not used.
    """
    console = console or Console(quiet=True)
    with console.status(f"reading {encoder_name} and counting the words of {text}"):
        training, fingerprint, left_out = prepare(encoder_name, text, language, options, seed)
    checkpoint = to.with_name(f"{to.name}.checkpoint")
    if checkpoint.exists():
        message = "not used, as it is damaged or of other options or data"
        if training.resume(checkpoint, fingerprint):
            message = f"continues from epoch {training.epoch + 1}, sentence {training.sentences + 1}"
        console.print(f"{checkpoint}: {message}.", soft_wrap=True, highlight=False, markup=False)
    _train(training, checkpoint, fingerprint, console)
    vocabulary, rows = training.vocabulary, training.trained.nonzero()[:, 0]
    if not len(rows):
        raise RequestError(
            "subsampling", f"{options.subsampling} makes no word of {text} a target", "Write more, or 0."
        )
    with console.status(f"writing {to}"):
        table = training.table.detach().cpu()[rows].numpy()
        write_vectors(to, [vocabulary.words[row] for row in rows.tolist()], table)
    checkpoint.unlink(missing_ok=True)
    untrained = len(vocabulary.words) - len(rows)
    left_out += (f"words that were never a target: {untrained}",) if untrained else ()
    return Summary(len(rows), vocabulary.sentences, left_out, training.loss)


def prepare(
    encoder_name: str, text: Path, language: str, options: ExtractOptions, seed: int
) -> tuple[Training, str, tuple[str, ...]]:
    """The training before its first update, the fingerprint of its checkpoints, and notes on text that is left out."""
    encoder, tokenizer = load_encoder(encoder_name)
    device = set_up(torch.get_num_threads(), gpu_share=1.0)
    frozen = FrozenEncoder(encoder_name, encoder, tokenizer, options, device)
    words = Words([], language, splitting=options.splitting, casing=True)

    def corpus(left_out: LeftOut | None = None) -> Iterator[str]:
        return sentences(text, "text", options, words=lambda line: words.split([line])[0], left_out=left_out)

    left_out = LeftOut()
    vocabulary = count_words(corpus(left_out), words, least=options.least_count, rows=options.rows)
    notes = left_out.notes()
    if vocabulary.rare:
        dropped = f", the rarest dropped {vocabulary.pruned} times while counting" if vocabulary.pruned else ""
        notes += (f"rare words: {vocabulary.rare}{dropped}",)
    if not vocabulary.words:
        raise RequestError(
            "text",
            f"{text}: no word occurs {options.least_count} times in the {vocabulary.sentences} sentences that pass the "
            "filters",
            f"Lower least_count, or name another text. Left out: {'; '.join(notes) or 'nothing'}.",
        )
    depends = {"version": VERSION, "language": language, "seed": seed, "encoder": encoder.config}
    depends["options"] = {**asdict(options), "checkpoint_seconds": None}  # which does not affect the result
    weights: list[str | np.ndarray] = [part for entry in encoder.weights.items() for part in entry]
    described = json.dumps(depends, sort_keys=True, default=str)
    fingerprint = content_hash(described, text, tokenizer.backend_tokenizer.to_str(), *weights)
    return Training(frozen, corpus, words, vocabulary, options, seed), fingerprint, notes


def _train(training: Training, checkpoint: Path, fingerprint: str, console: Console) -> None:
    """Do the remaining updates, with a progress bar and regular checkpoints."""
    start = saved = time.monotonic()
    before, total = training.done, training.options.epochs * training.vocabulary.sentences
    columns = ("{task.description}", BarColumn(), "{task.percentage:>3.0f}%", TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("extracting", total=total, completed=before)
        for _ in training.updates():
            now = time.monotonic()
            rate = (training.done - before) / max(now - start, 1e-9)
            status = f"epoch {training.epoch + 1}, loss {training.loss:.3f}, {rate:,.0f} sentences/s"
            progress.update(bar, completed=training.done, description=status)
            if now - saved >= training.options.checkpoint_seconds:
                training.save(checkpoint, fingerprint)
                saved = time.monotonic()
