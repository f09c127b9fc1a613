"""What a search of continued pretraining reads, once, on the driver. Only `prepare_test` opens test sets."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from seedwise.errors import RequestError
from seedwise.trainables.dcca.blocks import read_blocks
from seedwise.trainables.dcca.masking import Hiding
from seedwise.trainables.dcca.model import load_masked
from seedwise.trainables.dcca.options import alignment_of
from seedwise.trainables.dcca.reader import DccaReader
from seedwise.trainables.dcca.scores import Hidden, Probe
from seedwise.trainables.dcca.words import Static, join
from seedwise.trainables.ear.prepare import EarInputs, read_task
from seedwise.trainables.inputs.files import locate
from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.method import Candidates
from seedwise.trainables.request import Request, file_for
from seedwise.trainables.tasks.classification import METRICS
from seedwise.trainables.training.encoder import Encoder

MASK_RATE, MASK_SEED = 0.15, 0  # of the hidden tokens that runs are scored on: the same in all searches


@dataclass(frozen=True)
class DccaInputs:
    languages: tuple[str, ...]  # the source first
    model: Encoder  # with its head for masked words
    rest: dict[str, np.ndarray]  # weights of the encoder that such a model does not have: a pooler's
    task: EarInputs  # labelled data; its encoder has no weights
    hiding: Hiding
    blocks: np.ndarray  # of all languages together
    dev: dict[str, Hidden]
    static: dict[str, Static]  # by the name of the set
    probes: dict[str, Probe]
    parallel: dict[str, tuple[Encoded, Encoded]]  # target and source; only where retrieval selects
    score_layer: int | str
    classifies: bool  # whether a classifier's score selects: only then does a collapsed one fail its run
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class DccaTests:
    task: dict[str, Encoded]
    parallel: dict[str, tuple[Encoded, Encoded]]


def prepare(request: Request, candidates: Candidates) -> DccaInputs:
    """Read the encoder, the task, the text and the static vectors that a specification names."""
    inputs, reader = request.inputs, DccaReader(request)
    loaded, task = load_masked(request.model), read_task(reader)
    hiding = Hiding.of(reader.tokenizer)
    blocks, dev, notes = [], {}, list(task.notes)
    if loaded.drawn:
        notes.append(
            f"model: {request.model} has no head for masked words. One is drawn at random, so the first steps "
            "train little else, and mlm_loss of the untouched encoder means nothing."
        )
    for language in reader.languages:
        key = f"inputs.text.{language}"
        path = locate(file_for(language, inputs.text), key)
        found = read_blocks(path, key, reader.tokenizer, length=reader.longest, most=inputs.text_blocks)
        blocks.append(found.train)
        dev[language] = Hidden(*hiding(found.dev, MASK_RATE, MASK_SEED))
    static = {}
    for name, files in inputs.static.items():
        vectors, said = reader.vectors(f"inputs.static.{name}", files)
        static[name], more = join(vectors, reader.tokenizer, f"inputs.static.{name}")
        notes += [*said, *more]
    check(request, candidates, reader.encoder, static, blocks=sum(map(len, blocks)))
    for language in inputs.parallel:
        reader.translations(language)  # which only the confirmation reads: better to know now that it can
    return DccaInputs(
        languages=reader.languages,
        model=loaded.model,
        rest=loaded.rest,
        task=replace(task, encoder=Encoder(task.encoder.config, {})),
        hiding=hiding,
        blocks=np.concatenate(blocks),
        dev=dev,
        static=static,
        probes={language: reader.probe(language) for language in inputs.probes},
        parallel=reader.parallel("dev") if request.select.metric == "retrieval" else {},
        score_layer=inputs.score_layer or "last",
        classifies=request.select.metric in METRICS,
        notes=tuple(notes),
    )


def prepare_test(request: Request) -> DccaTests:
    """The test sets of the task, and the parallel sentences: all, or those that did not select."""
    reader = DccaReader(request)
    split = "test" if request.select.metric == "retrieval" else "all"
    return DccaTests({one: reader.encoded(one, "test") for one in reader.languages}, reader.parallel(split))


def check(
    request: Request, candidates: Candidates, encoder: Encoder, static: dict[str, Static], *, blocks: int
) -> None:
    """Whether all that the search can ask for fits the encoder, the vectors and the text."""
    layers, width = encoder.config["num_hidden_layers"], encoder.config["hidden_size"]
    for key, met in candidates.configurations.items():
        for params in met:
            if params.get("blocks", 0) > blocks:
                raise RequestError(
                    f"{key}.blocks", f"{params['blocks']}, but the text has {blocks}", "Write fewer, or add text."
                )
            for name in ("layer", "freeze_layers"):
                if params.get(name, 0) != "last" and params.get(name, 0) > layers:
                    raise RequestError(
                        f"{key}.{name}",
                        f"{params[name]}, but {request.model} has {layers} layers",
                        f"Write {layers} or less.",
                    )
            check_vectors(key, params, width, static)
    if (asked_for := request.inputs.score_layer or 0) > layers:
        raise RequestError(
            "inputs.score_layer", f"{asked_for}, but the encoder has {layers}", f"Write {layers} or less."
        )


def check_vectors(key: str, params: dict, width: int, static: dict[str, Static]) -> None:
    """Whether a configuration can use the set of static vectors that it names."""
    alignment = alignment_of(params)
    if alignment == "none":
        return
    name = set_of(params["static"], static)
    table = static[name].table
    if alignment == "mse" and table.shape[1] != width:
        way_out = "Write space.alignment: [dcca, none]" if key == "space" else f"Leave {key} out"
        raise RequestError(
            key,
            f"mse compares static vectors with states of the encoder, but inputs.static.{name} has "
            f"{table.shape[1]} dimensions and the encoder {width}",
            f"{way_out}, or name others.",
        )
    if params["words"] > len(static[name].train):
        most = len(static[name].train)
        raise RequestError(f"{key}.words", f"{params['words']}, but inputs.static.{name} has {most}", "Write fewer.")
    if params.get("directions", 0) > min(width, table.shape[1]):
        raise RequestError(
            f"{key}.directions",
            f"{params['directions']}, but inputs.static.{name} has {table.shape[1]} dimensions and the encoder {width}",
            f"Write space.directions: {min(width, table.shape[1])} or less.",
        )


def set_of(name: str, static: dict[str, Any]) -> str:
    """The set of vectors that a configuration means: by its name, or the only one."""
    return name or next(iter(static))
