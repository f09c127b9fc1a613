"""The dictionaries a person would bring: a noisy bilingual lexicon in MUSE's form and synonyms in EAR's form."""

from random import Random

from tools.world.concepts import CONCEPTS, Concept
from tools.world.language import Language

COVERED = {"qan": 0.40, "qor": 0.30}  # share of the concepts that the lexicon knows
WRONG = {"qan": 0.15, "qor": 0.25}  # share of its lines with a wrong translation
KEPT_TRANSLATION = 0.7  # probability of listing each of a word's second and later translations
INFLECTED = 0.35  # probability of listing the plural or past pair too
NEAR_SYNONYM = 0.10  # share of words with a "synonym" that is only a neighbour, as counter-fitted lists have


def lexicon(source: Language, target: Language, seed: int) -> list[tuple[str, str]]:
    """Pairs (source word, target word), sorted. Some are wrong, some occur in no corpus, many words are missing."""
    code = target.recipe.code
    random = Random(f"{seed}/lexicon/{code}")
    covered = [concept for concept in CONCEPTS if random.random() < COVERED[code]]
    pairs = [pair for concept in covered for pair in _pairs(concept, source, target, random)]
    for kind, words in source.function.items():
        pairs += zip(words, target.function[kind], strict=True)
    vocabulary = [form for forms in target.forms for form in forms]
    noisy = ((a, random.choice(vocabulary) if random.random() < WRONG[code] else b) for a, b in pairs)
    return sorted(set(noisy))


def _pairs(concept: Concept, source: Language, target: Language, random: Random) -> list[tuple[str, str]]:
    plain = [
        (a, b)
        for a in _known_forms(concept, source)
        for rank, b in enumerate(_known_forms(concept, target))
        if rank == 0 or random.random() < KEPT_TRANSLATION
    ]
    marked = [
        (source.inflect(concept, a, marked=True), target.inflect(concept, b, marked=True))
        for a, b in plain
        if random.random() < INFLECTED
    ]
    return plain + marked


def _known_forms(concept: Concept, language: Language) -> list[str]:
    bookish = language.bookish.get(concept.number)
    return [*language.forms[concept.number], *([bookish] if bookish else [])]


def synonyms(language: Language, seed: int) -> dict[str, list[str]]:
    """Word -> synonyms in the same inflection; many words have none, as in EAR's published file."""
    random = Random(f"{seed}/synonyms")
    by_word: dict[str, list[str]] = {}
    for concept in CONCEPTS:
        forms = language.forms[concept.number]
        neighbour = random.choice([c for c in CONCEPTS if (c.kind, c.scene) == (concept.kind, concept.scene)])
        extra = [language.forms[neighbour.number][0]] if random.random() < NEAR_SYNONYM else []
        for marked in (False, True) if concept.kind in ("noun", "verb") else (False,):
            inflected = [language.inflect(concept, form, marked=marked) for form in [*forms, *extra]]
            for word in inflected[: len(forms)]:
                known = by_word.setdefault(word, [])
                known += [other for other in inflected if other != word and other not in known]
    return dict(sorted(by_word.items()))
