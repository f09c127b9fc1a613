"""Reads the inputs of continued pretraining besides labelled data: static vectors, lexica, translations."""

from dataclasses import replace

from seedwise.errors import RequestError
from seedwise.trainables.dcca.scores import LexiconTest
from seedwise.trainables.dcca.words import pieces_of
from seedwise.trainables.ear.prepare import Reader
from seedwise.trainables.inputs.files import locate, read_lines
from seedwise.trainables.inputs.lexicons import Lexicon, read_lexicon
from seedwise.trainables.inputs.text import Encoded, encode
from seedwise.trainables.inputs.vectors import Vectors, read_vectors
from seedwise.trainables.request import Request, file_for
from seedwise.trainables.static.align import align, fixed_table
from seedwise.trainables.static.options import AlignOptions

FREQUENT = 5000  # most frequent words of each language that lexicon induction searches, besides the lexicon's words


class DccaReader(Reader):
    """Reads the task, the encoder and the other inputs of a specification."""

    def __init__(self, request: Request):
        super().__init__(request)
        if self.tokenizer.mask_token_id is None:
            problem = f"{request.model}: its tokenizer has no mask token"
            raise RequestError("model", problem, "Name a masked language model.")
        self.inputs, task = request.inputs, request.task
        self.languages = (task.source, *task.targets)

    def vectors(self, key: str, files: str | dict[str, str]) -> tuple[dict[str, Vectors], list[str]]:
        """Read a set of static vectors of all languages in a shared space, with notes."""
        vectors, notes = {}, []
        for language in self.languages:
            vectors[language] = self.static(key, files, language)
            notes += [f"{key}.{language}: {note}" for note in vectors[language].notes]
        source = self.languages[0]
        if self.inputs.align != "off":
            return self.aligned(key, vectors, notes)
        widths = {language: side.table.shape[1] for language, side in vectors.items()}
        for language, width in widths.items():
            if width != widths[source]:
                raise RequestError(
                    f"{key}.{language}",
                    f"{width} dimensions, but {source} has {widths[source]}: not one space",
                    "Set inputs.align, or name aligned vectors.",
                )
        return vectors, notes

    def static(self, key: str, files: str | dict[str, str], language: str) -> Vectors:
        """The vectors of one language, as its file has them."""
        key = f"{key}.{language}"
        return read_vectors(locate(file_for(language, files), key), key, rows=self.inputs.vector_rows)

    def lexicon(self, kind: str, language: str) -> Lexicon:
        key = f"inputs.{kind}.{language}"
        return read_lexicon(locate(getattr(self.inputs, kind)[language], key), key)

    def aligned(self, key: str, vectors: dict[str, Vectors], notes: list[str]) -> tuple[dict[str, Vectors], list[str]]:
        """Map all languages into the space of the source, as inputs.align says, by the lexica."""
        lexica = {language: self.lexicon("lexicons", language) for language in self.inputs.lexicons}
        fixed, *moving = self.languages
        options = AlignOptions(preset=self.inputs.align)
        mapped = align(vectors[fixed], {language: vectors[language] for language in moving}, lexica, options, seed=0)
        tables = {fixed: fixed_table(vectors[fixed], options)}
        for language, result in mapped.items():
            tables[language] = result.table
            notes += [f"{key}.{language}: {note}" for note in result.notes]
            if not result.aligned:
                scores = f"{result.measure} {result.before:.3f} before, {result.after:.3f} after"
                notes.append(f"{key}.{language}: left unaligned, as alignment hurts: {scores}")
        return {language: replace(vectors[language], table=table) for language, table in tables.items()}, notes

    def lexicon_test(self, language: str) -> LexiconTest:
        """The lexicon's pairs, and the words to search: the lexicon's words and the most frequent words."""
        trained_on: set[str] = set()
        if language in self.inputs.lexicons:
            trained_on = {entry.source for entry in self.lexicon("lexicons", language).entries}
        entries = self.lexicon("probes", language).entries
        pairs = [(entry.source, entry.target) for entry in entries if entry.source not in trained_on]
        if not pairs:
            raise RequestError(
                f"inputs.probes.{language}",
                f"all its words are in inputs.lexicons.{language}, by which vectors are aligned",
                "Name another lexicon.",
            )
        sides = []
        for number, name in enumerate((self.languages[0], language)):
            words = dict.fromkeys(pair[number] for pair in pairs)
            for static, files in list(self.inputs.static.items())[:1]:
                words |= dict.fromkeys(self.static(f"inputs.static.{static}", files, name).words[:FREQUENT])
            sides += [list(words), pieces_of(list(words), self.tokenizer)]
        return LexiconTest(*sides, pairs)

    def parallel(self, split: str) -> dict[str, tuple[Encoded, Encoded]]:
        """Sentence pairs by target language, the target's side first. dev: every other pair; test: the rest; or all."""
        part = {"all": slice(None), "dev": slice(0, None, 2), "test": slice(1, None, 2)}[split]
        return {
            language: tuple(self.sentences(side[part]) for side in self.translations(language))
            for language in self.inputs.parallel
        }

    def translations(self, language: str) -> list[list[str]]:
        """The sentences of a target language and the source's sentences, line by line."""
        key, names = f"inputs.parallel.{language}", self.inputs.parallel[language]
        sides = [[line.strip() for line in read_lines(locate(name, key), key)] for name in names]
        sides = [side[:-1] if not side[-1] else side for side in sides]
        if len(sides[0]) != len(sides[1]) or len(sides[0]) < 2:
            raise RequestError(
                key,
                f"{names[0]} has {len(sides[0])} lines and {names[1]} {len(sides[1])}: line n of one file must "
                "translate line n of the other",
                "Make them equally long, with two lines or more.",
            )
        return sides

    def sentences(self, texts: list[str]) -> Encoded:
        ids = self.tokenizer(texts, truncation=True, max_length=self.max_length)["input_ids"]
        return encode(ids, [0] * len(ids), pad=self.tokenizer.pad_token_id)
