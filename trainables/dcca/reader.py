"""Reading what continued pretraining needs besides labelled data: static vectors, lexica, translations."""

from dataclasses import replace

from seedwise.errors import RequestError
from seedwise.trainables.dcca.scores import Probe
from seedwise.trainables.dcca.words import pieces_of
from seedwise.trainables.ear.prepare import Reader
from seedwise.trainables.inputs.files import locate, read_lines
from seedwise.trainables.inputs.lexicons import read_lexicon
from seedwise.trainables.inputs.text import Encoded, encode
from seedwise.trainables.inputs.vectors import Vectors, read_vectors
from seedwise.trainables.request import Request, file_for
from seedwise.trainables.static.align import align, fixed_table
from seedwise.trainables.static.options import AlignOptions

PROBED = 5000  # words of each language in a lexicon induction, besides those of the lexicon, the most frequent ones


class DccaReader(Reader):
    """Reads what a specification names besides the task and the encoder."""

    def __init__(self, request: Request):
        super().__init__(request)
        if self.tokenizer.mask_token_id is None:
            raise RequestError("model", f"{request.model}: its tokenizer has no mask token", "Name a masked model.")
        self.inputs, task = request.inputs, request.task
        self.languages = (task.source, *task.targets)

    def vectors(self, key: str, files: str | dict[str, str]) -> tuple[dict[str, Vectors], list[str]]:
        """The static vectors of one set, in one space, and notes."""
        found, notes = {}, []
        for language in self.languages:
            found[language] = self.static(key, files, language)
            notes += [f"{key}.{language}: {note}" for note in found[language].notes]
        if self.inputs.align == "off":
            widths = {language: vectors.table.shape[1] for language, vectors in found.items()}
            for language, width in widths.items():
                if width != widths[self.languages[0]]:
                    raise RequestError(
                        f"{key}.{language}",
                        f"{width} dimensions, but {self.languages[0]} has {widths[self.languages[0]]}: not one space",
                        "Set inputs.align, or name aligned vectors.",
                    )
            return found, notes
        return self.aligned(key, found, notes)

    def static(self, key: str, files: str | dict[str, str], language: str) -> Vectors:
        """The vectors of one language as they are in their file."""
        key = f"{key}.{language}"
        path = locate(file_for(language, files), key)
        return read_vectors(path, key, rows=self.inputs.vector_rows)

    def aligned(self, key: str, found: dict[str, Vectors], notes: list[str]) -> tuple[dict[str, Vectors], list[str]]:
        """All languages in the space of the source, by inputs.align and the lexica."""
        lexica = {}
        for language, name in self.inputs.lexicons.items():
            lexica[language] = read_lexicon(locate(name, f"inputs.lexicons.{language}"), f"inputs.lexicons.{language}")
        fixed, *moving = self.languages
        options = AlignOptions(preset=self.inputs.align)
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
        lexicon = read_lexicon(locate(self.inputs.probes[language], key), key)
        learnt: set[str] = set()
        if name := self.inputs.lexicons.get(language):
            own = f"inputs.lexicons.{language}"
            learnt = {entry.source for entry in read_lexicon(locate(name, own), own).entries}
        pairs = [(entry.source, entry.target) for entry in lexicon.entries if entry.source not in learnt]
        if not pairs:
            raise RequestError(
                key, f"all its words are in inputs.lexicons.{language}, by which vectors are aligned", "Name another."
            )
        sides = []
        for side, one in enumerate((self.languages[0], language)):
            words = dict.fromkeys(pair[side] for pair in pairs)
            for name, files in list(self.inputs.static.items())[:1]:
                words |= dict.fromkeys(self.static(f"inputs.static.{name}", files, one).words[:PROBED])
            sides.append(list(words))
        source, target = sides
        return Probe(source, pieces_of(source, self.tokenizer), target, pieces_of(target, self.tokenizer), pairs)

    def parallel(self, split: str) -> dict[str, tuple[Encoded, Encoded]]:
        """Translated sentences by target language, the target's first. dev: every other pair; test: the others."""
        part = {"all": slice(None), "dev": slice(0, None, 2), "test": slice(1, None, 2)}[split]
        found = {language: self.translations(language) for language in self.inputs.parallel}
        return {one: tuple(self.sentences(side[part]) for side in sides) for one, sides in found.items()}

    def translations(self, language: str) -> list[list[str]]:
        """The sentences of a target language and those of the source, line by line."""
        key, names = f"inputs.parallel.{language}", self.inputs.parallel[language]
        sides = [[line.strip() for line in read_lines(locate(name, key), key)] for name in names]
        sides = [side[:-1] if not side[-1] else side for side in sides]
        if len(sides[0]) != len(sides[1]) or len(sides[0]) < 2:
            raise RequestError(
                key,
                f"{names[0]} has {len(sides[0])} lines and {names[1]} {len(sides[1])}: line n of one must "
                "translate line n of the other, of two lines or more",
                "Make them equal.",
            )
        return sides

    def sentences(self, texts: list[str]) -> Encoded:
        ids = self.tokenizer(texts, truncation=True, max_length=self.longest)["input_ids"]
        return encode(ids, [0] * len(ids), pad=self.tokenizer.pad_token_id)
