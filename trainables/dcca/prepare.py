"""Reads the inputs of a continued pretraining search, once, on the driver. Only `prepare_test` opens test sets."""

from dataclasses import dataclass, replace

import numpy as np

from seedwise.errors import RequestError
from seedwise.trainables.dcca.blocks import read_blocks
from seedwise.trainables.dcca.masking import Masking
from seedwise.trainables.dcca.model import load_masked
from seedwise.trainables.dcca.options import alignment_of
from seedwise.trainables.dcca.reader import DccaReader
from seedwise.trainables.dcca.scores import LexiconTest
from seedwise.trainables.dcca.words import StaticVectors, join
from seedwise.trainables.ear.prepare import EarInputs, read_task
from seedwise.trainables.inputs.files import locate
from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.method import Candidates
from seedwise.trainables.request import Request, file_for
from seedwise.trainables.training.encoder import Encoder

MASK_RATE, MASK_SEED = 0.15, 0  # of the masked tokens that runs are scored on: the same in all searches


@dataclass(frozen=True)
class DccaInputs:
    languages: tuple[str, ...]  # the source first
    model: Encoder  # with its head for masked words
    rest: dict[str, np.ndarray]  # weights of the encoder that a masked language model lacks, such as a pooler's
    task: EarInputs  # labelled data; its encoder has no weights
    masking: Masking
    blocks: np.ndarray  # of all languages together
    dev: dict[str, tuple[np.ndarray, np.ndarray]]  # masked blocks and their labels, the same for every run (D11)
    static: dict[str, StaticVectors]  # by the name of the set
    lexicon_tests: dict[str, LexiconTest]
    parallel: dict[str, tuple[Encoded, Encoded]]  # target and source; only if retrieval selects
    score_layer: int | str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class DccaTests:
    task: dict[str, Encoded]
    parallel: dict[str, tuple[Encoded, Encoded]]


def prepare(request: Request, candidates: Candidates) -> DccaInputs:
    """Read the encoder, the task, the text and the static vectors of a specification."""
    inputs, reader = request.inputs, DccaReader(request)
    loaded, task = load_masked(request.model), read_task(reader)
    masking = Masking.for_tokenizer(reader.tokenizer)
    blocks, dev, notes = [], {}, list(task.notes)
    if loaded.drawn:
        notes.append(
            f"model: {request.model} has no head for masked words. Its head is drawn at random, so the first steps "
            "train little else, and mlm_loss of the untouched encoder is meaningless."
        )
    for language in reader.languages:
        key = f"inputs.text.{language}"
        path = locate(file_for(language, inputs.text), key)
        text = read_blocks(path, key, reader.tokenizer, length=reader.max_length, limit=inputs.text_blocks)
        blocks.append(text["train"])
        dev[language] = masking(text["dev"], MASK_RATE, MASK_SEED)
    static = {}
    for name, files in inputs.static.items():
        vectors, reading = reader.vectors(f"inputs.static.{name}", files)
        static[name], joining = join(vectors, reader.tokenizer, f"inputs.static.{name}")
        notes += [*reading, *joining]
    check(request, candidates, reader.encoder, static, blocks=sum(map(len, blocks)))
    for language in inputs.parallel:
        reader.translations(language)  # read only by the confirmation, but checked now
    return DccaInputs(
        languages=reader.languages,
        model=loaded.model,
        rest=loaded.rest,
        task=replace(task, encoder=Encoder(task.encoder.config, {})),
        masking=masking,
        blocks=np.concatenate(blocks),
        dev=dev,
        static=static,
        lexicon_tests={language: reader.lexicon_test(language) for language in inputs.probes},
        parallel=reader.parallel("dev") if request.select.metric == "retrieval" else {},
        score_layer=inputs.score_layer or "last",
        notes=tuple(notes),
    )


def prepare_test(request: Request) -> DccaTests:
    """Read the test sets of the task, and the parallel sentences that the search did not select by."""
    reader = DccaReader(request)
    split = "test" if request.select.metric == "retrieval" else "all"
    return DccaTests({name: reader.encoded(name, "test") for name in reader.languages}, reader.parallel(split))


def check(
    request: Request, candidates: Candidates, encoder: Encoder, static: dict[str, StaticVectors], *, blocks: int
) -> None:
    """Check that all configurations of the search fit the encoder, the vectors and the text."""
    layers, width = encoder.config["num_hidden_layers"], encoder.config["hidden_size"]
    of_layers = layers, f"{request.model} has {layers} layers", f"Write {layers} or less."
    limits = {
        "blocks": (blocks, f"the text has {blocks}", "Write fewer, or add text."),
        "layer": of_layers,
        "freeze_layers": of_layers,
    }
    for key, configurations in candidates.configurations.items():
        for params in configurations:
            for name, (most, why, fix) in limits.items():
                value = params.get(name, 0)
                if value != "last" and value > most:
                    raise RequestError(f"{key}.{name}", f"{value}, but {why}", fix)
            check_vectors(key, params, width, static)
    if (layer := request.inputs.score_layer or 0) > layers:
        raise RequestError("inputs.score_layer", f"{layer}, but the encoder has {layers}", f"Write {layers} or less.")


def check_vectors(key: str, params: dict, width: int, static: dict[str, StaticVectors]) -> None:
    """Check that a configuration can use its set of static vectors."""
    alignment = alignment_of(params)
    if alignment == "none":
        return
    name = set_name(params["static"], static)
    dimensions, words = static[name].table.shape[1], len(static[name].train)
    widths = f"inputs.static.{name} has {dimensions} dimensions and the encoder {width}"
    if alignment == "mse" and dimensions != width:
        fix = "Write space.alignment: [dcca, none]" if key == "space" else f"Leave {key} out"
        problem = f"mse compares static vectors with states of the encoder, but {widths}"
        raise RequestError(key, problem, f"{fix}, or name other vectors.")
    if params["words"] > words:
        raise RequestError(f"{key}.words", f"{params['words']}, but inputs.static.{name} has {words}", "Write fewer.")
    if params.get("directions", 0) > (most := min(width, dimensions)):
        problem = f"{params['directions']}, but {widths}"
        raise RequestError(f"{key}.directions", problem, f"Write space.directions: {most} or less.")


def set_name(name: str, static: dict[str, StaticVectors]) -> str:
    """The name of a configuration's set of vectors; if the name is empty, that of the only set."""
    return name or next(iter(static))
