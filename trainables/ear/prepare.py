"""Reads the inputs of an EAR search once, on the driver. Only `prepare_test`, for the confirmation, opens test sets."""

from dataclasses import dataclass, replace

import torch

from seedwise.errors import RequestError
from seedwise.trainables.ear.augment import Dictionary
from seedwise.trainables.ear.examples import Examples, examples
from seedwise.trainables.ear.heads import set_head
from seedwise.trainables.ear.two_stream import TwoStream
from seedwise.trainables.inputs.files import locate
from seedwise.trainables.inputs.pieces import tokenise
from seedwise.trainables.inputs.synonyms import read_synonyms
from seedwise.trainables.inputs.text import Encoded, encode
from seedwise.trainables.method import Candidates
from seedwise.trainables.request import Request
from seedwise.trainables.tasks.sources import Classification
from seedwise.trainables.training.encoder import Encoder, check_encoder, load_encoder, skeleton

DRAWN_SENTENCES = 30  # parallel sentences of each language in the picture of words


@dataclass(frozen=True)
class EarInputs:
    source: str
    labels: list[str]
    encoder: Encoder
    train: Examples
    dev: dict[str, Encoded]  # of the source, the targets and the pivots
    synonyms: dict[str, tuple[str, ...]]
    parallel: dict[str, list[list[str]]]  # the first dev sentences of the source and the targets as words, for pictures
    notes: tuple[str, ...] = ()


class Reader:
    """Reads the task and the encoder of a specification."""

    def __init__(self, request: Request):
        self.request, self.max_length = request, request.inputs.max_length
        self.task = Classification(request.task)
        self.encoder, self.tokenizer = load_encoder(request.model)
        check_encoder("model", request.model, self.encoder, self.tokenizer, self.max_length)
        if not self.tokenizer.is_fast:
            raise RequestError(
                "model",
                f"{request.model}: its tokenizer reports no offsets of tokens",
                "Name an encoder with a fast tokenizer (tokenizer.json).",
            )

    def texts(self, language: str, split: str) -> tuple[list[tuple[str, ...]], list[int]]:
        """The examples of a split, as tuples of one or two sentences, and their class numbers."""
        texts, classes = self.task.split(language, split)
        return (texts if self.task.pairs else [(text,) for text in texts]), classes

    def encoded(self, language: str, split: str) -> Encoded:
        texts, classes = self.texts(language, split)
        tokens = tokenise(self.tokenizer, texts, self.max_length, pad=False, offsets=False)
        return encode(tokens["input_ids"], classes, pad=self.tokenizer.pad_token_id, types=tokens.get("token_type_ids"))


def prepare(request: Request, candidates: Candidates) -> EarInputs:
    """Read the encoder, the task and the dictionary of synonyms of a specification."""
    task, reader = request.task, Reader(request)
    check_layers(request.model, reader.encoder, candidates)
    inputs, key, name = read_task(reader), "inputs.synonyms", request.inputs.synonyms
    if name:
        synonyms = read_synonyms(locate(name, key), key)
        check_coverage(inputs.train, synonyms.words, name)
        notes = (*inputs.notes, *(f"{key}: {note}" for note in synonyms.notes))
        inputs = replace(inputs, synonyms=synonyms.words, notes=notes)
    if reader.task.parallel:
        inputs = replace(inputs, parallel=parallel_words(reader, [task.source, *task.targets]))
    return inputs


def read_task(reader: Reader) -> EarInputs:
    """The encoder and the labelled data for plain fine-tuning, without synonyms and pictures."""
    task = reader.request.task
    languages = [task.source, *task.targets, *task.pivots]
    return EarInputs(
        source=task.source,
        labels=reader.task.labels,
        encoder=reader.encoder,
        train=examples(*reader.texts(task.source, "train"), reader.tokenizer, reader.max_length),
        dev={language: reader.encoded(language, "dev") for language in languages},
        synonyms={},
        parallel={},
        notes=tuple(reader.task.notes),
    )


def parallel_words(reader: Reader, languages: list[str]) -> dict[str, list[list[str]]]:
    """The first dev sentences of each language, from the same rows, without rows that repeat a source sentence."""
    texts = {language: [text[0] for text in reader.texts(language, "dev")[0]] for language in languages}
    first: dict[str, int] = {}
    for row, text in enumerate(texts[languages[0]]):
        first.setdefault(text, row)
    shortest = min(map(len, texts.values()))
    rows = [row for row in first.values() if row < shortest][:DRAWN_SENTENCES]
    return {language: [sentences[row].split() for row in rows] for language, sentences in texts.items()}


def prepare_test(request: Request) -> dict[str, Encoded]:
    """The test sets of the source and the targets; pivots have none, as their labels served the search."""
    reader, task = Reader(request), request.task
    return {language: reader.encoded(language, "test") for language in [task.source, *task.targets]}


def check_coverage(train: Examples, synonyms: dict[str, tuple[str, ...]], name: str) -> None:
    """Refuse a dictionary that has no word of the training set: it is probably in another language."""
    dictionary = Dictionary(synonyms, scale=1.0, seed=0, exact=False)
    if not any(dictionary.synonyms_of(token) for example in train.sentences for words in example for token in words):
        raise RequestError(
            "inputs.synonyms",
            f"{name} has no synonym for any word of the training set",
            "Name a dictionary of the source language.",
        )


def check_layers(name: str, encoder: Encoder, candidates: Candidates) -> None:
    """Check that the forward pass over both streams works on this encoder, for all layers that a search can try.

    The check uses a small encoder of the same kind with random weights: with the same sentence in both streams and
    shared dropout, both outputs must be equal apart from rounding.
    """
    layers = {"space.layer": max(candidates.values("layer"), default=1)}
    for key, params in candidates.enqueued.items():
        layers[f"{key}.layer"] = params.get("layer", 1)
    small = Encoder({**encoder.config, "vocab_size": (encoder.config.get("pad_token_id") or 0) + 2}, {})
    model = skeleton(small, 2)
    for head in candidates.values("head") | {params["head"] for params in candidates.enqueued.values()}:
        set_head(skeleton(small, 2), head)
    two_stream = TwoStream(model, maps=1, states=None, shared_dropout=True)
    for key, layer in layers.items():
        if layer > (most := two_stream.layers):
            fix = f"Write space.layer: [1, {most}], or fewer." if key == "space.layer" else f"Write {most} or less."
            raise RequestError(key, f"{layer}, but {name} has {most} layers", fix)
    if True not in candidates.values("shared_dropout"):
        return
    ids = torch.full((2, 4), small.config["vocab_size"] - 1)
    model.train()
    with torch.no_grad():
        first, second = two_stream({"input_ids": ids, "attention_mask": torch.ones_like(ids)}).halves("logits")
    if not torch.allclose(first, second, atol=1e-4):  # different masks change them by some hundredths
        raise RequestError(
            "space.shared_dropout",
            f"{encoder.config['model_type']} draws dropout in its own way, which two streams cannot share",
            "Write space.shared_dropout: false.",
        )
