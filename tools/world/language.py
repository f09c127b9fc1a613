"""Word forms: how each made-up language names the concepts.

Three processes give a concept its forms. A native form follows the language's own sounds. An international form is
borrowed from a common stock, spelled alike or adapted to the borrower's sounds, and may live on as the synonym of a
native word: it is what lets a multilingual encoder transfer without parallel text. A cognate is the source's native
form after regular sound change. Some forms then serve a second, unrelated concept (polysemy).
"""

from dataclasses import dataclass
from random import Random

from tools.world.concepts import CONCEPTS, Concept


@dataclass(frozen=True)
class Recipe:
    """How a language is made. Shares are probabilities per concept, in the order they are tried."""

    code: str
    name: str
    onsets: str  # space separated, as are the next two
    vowels: str
    codas: str
    shift: dict[str, str]  # letters changed when a form is adapted or inherited with sound change
    borrowed: float  # takes the international form
    adapted: float  # share of the borrowed ones that is respelled
    cognate: float  # inherits the source's native form, shifted
    plural: str
    past: str
    verb_last: bool
    adjective_first: bool
    postpositions: bool
    sentences: int  # size of the unlabelled corpus


QEL = Recipe(
    code="qel", name="Elmari", onsets="b d f g k l m n p r s t v br dr st tr", vowels="a e i o u ai", codas="n r s l",
    shift={}, borrowed=0.50, adapted=0.0, cognate=0.0, plural="en", past="ta",
    verb_last=False, adjective_first=True, postpositions=False, sentences=14000,
)  # fmt: skip
QAN = Recipe(
    code="qan", name="Anvish", onsets="b d f g h l m n p r s t v z sh vr gl", vowels="a e i o ei", codas="m n sh t",
    shift={"k": "g", "p": "f", "st": "sh", "u": "o"}, borrowed=0.65, adapted=0.15, cognate=0.25, plural="im", past="do",
    verb_last=False, adjective_first=False, postpositions=False, sentences=4000,
)  # fmt: skip
QOR = Recipe(
    code="qor", name="Orrokh", onsets="k g q r t d n y kh gr z h", vowels="a o u y uo", codas="k kh r q ng",
    shift={"b": "kh", "f": "h", "l": "r", "e": "o", "i": "y"}, borrowed=0.20, adapted=0.35, cognate=0.0, plural="uqa",
    past="yz", verb_last=True, adjective_first=False, postpositions=True, sentences=2000,
)  # fmt: skip
RECIPES = (QEL, QAN, QOR)

INTERNATIONAL = ("b d f k l m n p r s t pl kr", "a e i o u", "l m n r s")
KEPT_AS_SYNONYM = 0.5  # of the borrowed forms: the native word stays the usual one
NATIVE_SYNONYM = 0.30
BOOKISH_SYNONYM = 0.12  # known to dictionaries, never written
POLYSEMY = 0.08
FUNCTION_WORDS = {"determiner": 3, "adposition": 6, "conjunction": 2, "negation": 1, "adverb": 8}


@dataclass(frozen=True)
class Language:
    """A recipe carried out. `forms[c]` lists the words for concept c, the usual one first."""

    recipe: Recipe
    forms: tuple[tuple[str, ...], ...]
    bookish: dict[int, str]
    function: dict[str, tuple[str, ...]]

    def inflect(self, concept: Concept, form: str, *, marked: bool) -> str:
        """The plural of a noun or the past of a verb when `marked`; other kinds do not inflect."""
        suffix = {"noun": self.recipe.plural, "verb": self.recipe.past}.get(concept.kind, "")
        return form + suffix if marked else form


def make_languages(seed: int) -> dict[str, Language]:
    """The three languages by code. Equal seeds give equal languages on every machine (only random.Random is used)."""
    stock = _Mint(Random(f"{seed}/international"), *INTERNATIONAL)
    international = [stock.word() for _ in CONCEPTS]
    inherited: list[str] | None = None
    languages = {}
    for recipe in RECIPES:
        languages[recipe.code], native = _make(recipe, international, inherited, Random(f"{seed}/{recipe.code}"))
        inherited = inherited or native  # the first language is the source, whose words the others may inherit
    return languages


class _Mint:
    """Pronounceable words, never the same twice."""

    def __init__(self, random: Random, onsets: str, vowels: str, codas: str) -> None:
        self.random, self.used = random, set()
        self.onsets, self.vowels, self.codas = onsets.split(), vowels.split(), codas.split()

    def word(self, shortest: int = 2, longest: int = 3) -> str:
        while True:
            count = self.random.randint(shortest, longest)
            form = "".join(self.random.choice(self.onsets) + self.random.choice(self.vowels) for _ in range(count))
            if self.random.random() < 0.5:
                form += self.random.choice(self.codas)
            if form not in self.used:
                self.used.add(form)
                return form


def _make(
    recipe: Recipe, international: list[str], inherited: list[str] | None, random: Random
) -> tuple[Language, list[str]]:
    mint = _Mint(random, recipe.onsets, recipe.vowels, recipe.codas)
    function = {kind: tuple(mint.word(1, 1) for _ in range(count)) for kind, count in FUNCTION_WORDS.items()}
    native, forms = [], []
    for concept in CONCEPTS:
        own = mint.word()
        if inherited is not None and random.random() < recipe.cognate:
            own = _shifted(inherited[concept.number], recipe.shift)
        native.append(own)
        forms.append(_forms_of(concept, own, international[concept.number], recipe, mint))
    _share_forms(forms, random)
    bookish = {concept.number: mint.word() for concept in CONCEPTS if random.random() < BOOKISH_SYNONYM}
    return Language(recipe, tuple(map(tuple, forms)), bookish, function), native


def _forms_of(concept: Concept, own: str, international: str, recipe: Recipe, mint: _Mint) -> list[str]:
    random = mint.random
    if concept.kind == "name":
        return [international]
    forms = [own]
    if random.random() < NATIVE_SYNONYM:
        forms.append(mint.word())
    if random.random() < recipe.borrowed:
        loan = _shifted(international, recipe.shift) if random.random() < recipe.adapted else international
        forms = [*forms[:1], loan] if random.random() < KEPT_AS_SYNONYM else [loan, *forms[1:]]
    return forms


def _share_forms(forms: list[list[str]], random: Random) -> None:
    """Give some concepts the usual word of another one of the same kind and another topic, in place."""
    for concept in CONCEPTS:
        others = [c for c in CONCEPTS if c.kind == concept.kind and c.topic != concept.topic]
        if concept.kind != "name" and random.random() < POLYSEMY:
            forms[concept.number][0] = forms[random.choice(others).number][0]


def _shifted(form: str, shift: dict[str, str]) -> str:
    for old, new in shift.items():
        form = form.replace(old, new)
    return form
