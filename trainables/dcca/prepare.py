"""What a search of continued pretraining reads, once, on the driver. Only `prepare_test` opens test sets."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from search.baselines import asked_of
from search.errors import RequestError
from trainables.dcca.blocks import read_blocks
from trainables.dcca.masking import Hiding
from trainables.dcca.model import load_masked
from trainables.dcca.options import OPTIONS
from trainables.dcca.scores import Hidden, Probe
from trainables.dcca.words import Static, join, pieces_of
from trainables.ear.prepare import EarInputs, Reader, read_task
from trainables.encoder import Encoder
from trainables.inputs.lexicons import lines_of, read_lexicon
from trainables.inputs.paths import by_language, locate
from trainables.inputs.text import Encoded, encode
from trainables.inputs.vectors import Vectors, read_vectors

MASK_RATE, MASK_SEED = 0.15, 0  # of the hidden tokens that runs are scored on: the same in all searches
METRICS = ("macro_f1", "accuracy")  # of a classifier
PROBED = 5000  # words of each language in a lexicon induction, besides those of the lexicon, the most frequent ones


@dataclass(frozen=True)
class DccaInputs:
    source: str
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


def prepare(specification: dict) -> DccaInputs:
    """Read the encoder, the task, the text and the static vectors that a specification names."""
    inputs, reader = specification["inputs"], DccaReader(specification)
    loaded, task = load_masked(specification["model"]), read_task(reader)
    hiding = Hiding.of(reader.tokenizer)
    blocks, dev, notes = [], {}, list(task.notes)
    if loaded.drawn:
        notes.append(
            f"model: {specification['model']} has no head for masked words. One is drawn at random, so the first steps "
            "train little else, and mlm_loss of the untouched encoder means nothing."
        )
    for language in reader.languages:
        key = f"inputs.text.{language}"
        path = locate(by_language(inputs["text"], specification["task"])[language], key)
        found = read_blocks(path, key, reader.tokenizer, length=reader.longest, most=inputs["text_blocks"])
        blocks.append(found.train)
        dev[language] = Hidden(*hiding(found.dev, MASK_RATE, MASK_SEED))
    static = {}
    for name, files in inputs["static"].items():
        vectors, said = reader.vectors(f"inputs.static.{name}", files)
        static[name], more = join(vectors, reader.tokenizer, f"inputs.static.{name}")
        notes += [*said, *more]
    check(specification, reader.encoder, static, blocks=sum(map(len, blocks)))
    for language in inputs["parallel"]:
        reader.translations(language)  # which only the confirmation reads: better to know now that it can
    return DccaInputs(
        source=reader.languages[0],
        languages=reader.languages,
        model=loaded.model,
        rest=loaded.rest,
        task=replace(task, encoder=Encoder(task.encoder.config, {})),
        hiding=hiding,
        blocks=np.concatenate(blocks),
        dev=dev,
        static=static,
        probes={language: reader.probe(language) for language in inputs["probes"]},
        parallel=reader.parallel("dev") if specification["select"]["metric"] == "retrieval" else {},
        score_layer=inputs["score_layer"] or "last",
        classifies=specification["select"]["metric"] in METRICS,
        notes=tuple(notes),
    )


def prepare_test(specification: dict) -> DccaTests:
    """The test sets of the task, and the parallel sentences: all, or those that did not select."""
    reader = DccaReader(specification)
    split = "test" if specification["select"]["metric"] == "retrieval" else "all"
    return DccaTests({one: reader.encoded(one, "test") for one in reader.languages}, reader.parallel(split))


class DccaReader(Reader):
    """Reads what a specification names besides the task and the encoder."""

    def __init__(self, specification: dict):
        super().__init__(specification)
        if self.tokenizer.mask_token_id is None:
            raise RequestError(
                f"model: {specification['model']}: its tokenizer has no mask token. Name a masked model."
            )
        self.inputs, task = specification["inputs"], specification["task"]
        self.languages = (task["source"], *task["targets"])

    def vectors(self, key: str, files: str | dict[str, str]) -> tuple[dict[str, Vectors], list[str]]:
        """The static vectors of one set, in one space, and notes."""
        found, notes = {}, []
        for language in self.languages:
            found[language] = self.static(key, files, language)
            notes += [f"{key}.{language}: {note}" for note in found[language].notes]
        if self.inputs["align"] == "off":
            widths = {language: vectors.table.shape[1] for language, vectors in found.items()}
            for language, width in widths.items():
                if width != widths[self.languages[0]]:
                    raise RequestError(
                        f"{key}.{language}: {width} dimensions, but {self.languages[0]} has "
                        f"{widths[self.languages[0]]}: not one space. Set inputs.align, or name aligned vectors."
                    )
            return found, notes
        return self.aligned(key, found, notes)

    def static(self, key: str, files: str | dict[str, str], language: str) -> Vectors:
        """The vectors of one language as they are in their file."""
        key = f"{key}.{language}"
        path = locate(by_language(files, self.specification["task"])[language], key)
        return read_vectors(path, key, rows=self.inputs["vector_rows"])

    def aligned(self, key: str, found: dict[str, Vectors], notes: list[str]) -> tuple[dict[str, Vectors], list[str]]:
        """All languages in the space of the source, by inputs.align and the lexica."""
        from trainables.static.align import align, fixed_table
        from trainables.static.align_options import AlignOptions

        lexica = {}
        for language, name in self.inputs["lexicons"].items():
            lexica[language] = read_lexicon(locate(name, f"inputs.lexicons.{language}"), f"inputs.lexicons.{language}")
        fixed, *moving = self.languages
        options = AlignOptions(preset=self.inputs["align"])
        of_language = {one: found[one] for one in moving}
        mapped = align(found[fixed], of_language, {one: lexica.get(one) for one in moving}, options, seed=0)
        tables = {fixed: fixed_table(found[fixed], options)} | {one: result.table for one, result in mapped.items()}
        for language, result in mapped.items():
            notes += [f"{key}.{language}: {note}" for note in result.notes]
            if not result.aligned:
                scores = f"{result.measure} {result.before:.3f} before, {result.after:.3f} after"
                notes.append(f"{key}.{language}: left unaligned, as alignment hurts: {scores}")
        return {one: replace(found[one], table=table) for one, table in tables.items()}, notes

    def probe(self, language: str) -> Probe:
        """The words that a lexicon induction looks among: those of the lexicon and the most frequent ones."""
        key = f"inputs.probes.{language}"
        lexicon = read_lexicon(locate(self.inputs["probes"][language], key), key)
        learnt: set[str] = set()
        if name := self.inputs["lexicons"].get(language):
            learnt = {entry.source for entry in read_lexicon(locate(name, key), key).entries}
        pairs = [(entry.source, entry.target) for entry in lexicon.entries if entry.source not in learnt]
        if not pairs:
            raise RequestError(
                f"{key}: all its words are in inputs.lexicons.{language}, by which vectors are aligned. Name another."
            )
        sides = []
        for side, one in enumerate((self.languages[0], language)):
            words = dict.fromkeys(pair[side] for pair in pairs)
            for name, files in list(self.inputs["static"].items())[:1]:
                words |= dict.fromkeys(self.static(f"inputs.static.{name}", files, one).words[:PROBED])
            sides.append(list(words))
        source, target = sides
        return Probe(source, pieces_of(source, self.tokenizer), target, pieces_of(target, self.tokenizer), pairs)

    def parallel(self, split: str) -> dict[str, tuple[Encoded, Encoded]]:
        """Translated sentences by target language, the target's first. dev: every other pair; test: the others."""
        part = {"all": slice(None), "dev": slice(0, None, 2), "test": slice(1, None, 2)}[split]
        found = {language: self.translations(language) for language in self.inputs["parallel"]}
        return {one: tuple(self.sentences(side[part]) for side in sides) for one, sides in found.items()}

    def translations(self, language: str) -> list[list[str]]:
        """The sentences of a target language and those of the source, line by line."""
        key, names = f"inputs.parallel.{language}", self.inputs["parallel"][language]
        sides = [[line.strip() for line in lines_of(locate(name, key), key)] for name in names]
        sides = [side[:-1] if not side[-1] else side for side in sides]
        if len(sides[0]) != len(sides[1]) or len(sides[0]) < 2:
            raise RequestError(
                f"{key}: {names[0]} has {len(sides[0])} lines and {names[1]} {len(sides[1])}: line n of one must "
                "translate line n of the other, of two lines or more. Make them equal."
            )
        return sides

    def sentences(self, texts: list[str]) -> Encoded:
        ids = self.tokenizer(texts, truncation=True, max_length=self.longest)["input_ids"]
        return encode(ids, [0] * len(ids), pad=self.tokenizer.pad_token_id)


def check(specification: dict, encoder: Encoder, static: dict[str, Static], *, blocks: int) -> None:
    """Whether all that the search can ask for fits the encoder, the vectors and the text."""
    layers, width = encoder.config["num_hidden_layers"], encoder.config["hidden_size"]
    for key, met in asked_of(specification).items():
        for params in met:
            if params.get("blocks", 0) > blocks:
                raise RequestError(
                    f"{key}.blocks: {params['blocks']}, but the text has {blocks}. Write fewer, or add text."
                )
            for name in ("layer", "freeze_layers"):
                if params.get(name, 0) != "last" and params.get(name, 0) > layers:
                    raise RequestError(
                        f"{key}.{name}: {params[name]}, but {specification['model']} has {layers} layers. "
                        f"Write {layers} or less."
                    )
            check_vectors(key, params, width, static)
    if (asked_for := specification["inputs"]["score_layer"] or 0) > layers:
        raise RequestError(f"inputs.score_layer: {asked_for}, but the encoder has {layers}. Write {layers} or less.")


def check_vectors(key: str, params: dict, width: int, static: dict[str, Static]) -> None:
    """Whether a configuration can use the set of static vectors that it names."""
    alignment = params.get("alignment") or OPTIONS[params["baseline"]].alignment
    if alignment == "none":
        return
    name = set_of(params["static"], static)
    table = static[name].table
    if alignment == "mse" and table.shape[1] != width:
        way_out = "Write space.alignment: [dcca, none]" if key == "space" else f"Leave {key} out"
        raise RequestError(
            f"{key}: mse compares static vectors with states of the encoder, but inputs.static.{name} has "
            f"{table.shape[1]} dimensions and the encoder {width}. {way_out}, or name others."
        )
    if params["words"] > len(static[name].train):
        most = len(static[name].train)
        raise RequestError(f"{key}.words: {params['words']}, but inputs.static.{name} has {most}. Write fewer.")
    if params.get("directions", 0) > min(width, table.shape[1]):
        raise RequestError(
            f"{key}.directions: {params['directions']}, but inputs.static.{name} has {table.shape[1]} dimensions and "
            f"the encoder {width}. Write space.directions: {min(width, table.shape[1])} or less."
        )


def set_of(name: str, static: dict[str, Any]) -> str:
    """The set of vectors that a configuration means: by its name, or the only one."""
    return name or next(iter(static))
