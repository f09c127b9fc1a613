"""Sentences: a plan in concepts, shared by all languages, and its rendering in one of them.

Plans make labelled dev and test sets parallel, as SIB-200's are: the same index is the same plan in every language. The
unlabelled corpora are not parallel; each language even has its own favourite concepts, so that word vectors of two
languages are similar in shape but never a rotation of one another.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random

from tools.world.concepts import CONCEPTS, GENERAL, SCENES_PER_TOPIC, TOPIC_SHARES, TOPICS, Concept
from tools.world.language import Language

# Where a content word comes from. The digression, another topic's scene, keeps the task from being trivial.
FROM_SCENE, FROM_TOPIC, FROM_DIGRESSION = 0.50, 0.17, 0.12
USUAL_WORD = 0.75  # probability that a corpus uses the usual of several synonyms
USUAL_WORD_IN_TASK = 0.90  # the labelled text is plainer, so synonyms are mostly unseen in fine-tuning
ZIPF = 0.8
TWO_CLAUSES = 0.15


@dataclass(frozen=True)
class Phrase:
    """A noun with its modifiers. A name has none."""

    noun: Concept
    adjective: Concept | None
    marked: bool
    determiner: int
    number: int | None


@dataclass(frozen=True)
class Clause:
    """Who does what to whom, perhaps where."""

    subject: Phrase
    verb: Concept
    past: bool
    negated: bool
    object: Phrase
    adposition: int | None
    place: Phrase | None
    adverb: int | None


@dataclass(frozen=True)
class Plan:
    """A sentence before it is worded: its topic (the label) and one or two clauses."""

    topic: int
    clauses: tuple[Clause, ...]
    conjunction: int


def plans(seed: int, stream: str) -> Iterator[Plan]:
    """Endless plans. The stream's name decides what its author likes to mention."""
    random = Random(f"{seed}/plans/{stream}")
    taste = [random.lognormvariate(0, 0.6) for _ in CONCEPTS]
    while True:
        topic = random.choices(range(len(TOPICS)), TOPIC_SHARES)[0]
        yield _Planner(random, taste, topic).plan()


class _Planner:
    def __init__(self, random: Random, taste: list[float], topic: int) -> None:
        self.random, self.taste, self.topic = random, taste, topic
        self.scene = topic * SCENES_PER_TOPIC + random.randrange(SCENES_PER_TOPIC)
        other = random.choice([t for t in range(len(TOPICS)) if t != topic])
        self.digression = other * SCENES_PER_TOPIC + random.randrange(SCENES_PER_TOPIC)

    def plan(self) -> Plan:
        count = 1 + (self.random.random() < TWO_CLAUSES)
        return Plan(self.topic, tuple(self._clause() for _ in range(count)), self.random.randrange(2))

    def _clause(self) -> Clause:
        chance = self.random.random
        with_place = chance() < 0.6
        return Clause(
            subject=self._name() if chance() < 0.15 else self._phrase(),
            verb=self._concept("verb"),
            past=chance() < 0.4,
            negated=chance() < 0.1,
            object=self._phrase(),
            adposition=self.random.randrange(6) if with_place else None,
            place=self._phrase() if with_place else None,
            adverb=self.random.randrange(8) if chance() < 0.3 else None,
        )

    def _phrase(self) -> Phrase:
        adjective = self._concept("adjective") if self.random.random() < 0.35 else None
        number = self.random.randint(2, 20) if self.random.random() < 0.08 else None
        marked = number is not None or self.random.random() < 0.3
        return Phrase(self._concept("noun"), adjective, marked, self.random.randrange(3), number)

    def _name(self) -> Phrase:
        return Phrase(self._pick("name", self.topic, GENERAL), None, marked=False, determiner=0, number=None)

    def _concept(self, kind: str) -> Concept:
        draw = self.random.random()
        if draw < FROM_SCENE:
            return self._pick(kind, self.topic, self.scene)
        if draw < FROM_SCENE + FROM_TOPIC:
            scene = self.topic * SCENES_PER_TOPIC + self.random.randrange(SCENES_PER_TOPIC)
            return self._pick(kind, self.topic, scene)
        if draw < FROM_SCENE + FROM_TOPIC + FROM_DIGRESSION:
            return self._pick(kind, self.digression // SCENES_PER_TOPIC, self.digression)
        return self._pick(kind, GENERAL, GENERAL)

    def _pick(self, kind: str, topic: int, scene: int) -> Concept:
        candidates = _candidates(kind, topic, scene)
        weights = [self.taste[c.number] / (rank + 1) ** ZIPF for rank, c in enumerate(candidates)]
        return self.random.choices(candidates, weights)[0]


@cache
def _candidates(kind: str, topic: int, scene: int) -> tuple[Concept, ...]:
    return tuple(c for c in CONCEPTS if (c.kind, c.topic, c.scene) == (kind, topic, scene))


def render(plan: Plan, language: Language, random: Random, usual: float = USUAL_WORD) -> str:
    """The plan in words, space separated and in lower case, closed by a full stop."""
    joint = f" , {language.function['conjunction'][plan.conjunction]} "
    return joint.join(" ".join(_clause(clause, language, random, usual)) for clause in plan.clauses) + " ."


def _clause(clause: Clause, language: Language, random: Random, usual: float) -> list[str]:
    function, recipe = language.function, language.recipe
    verb = [language.inflect(clause.verb, _word(clause.verb, language, random, usual), marked=clause.past)]
    if clause.negated:
        verb = [*function["negation"], *verb]
    subject, thing = (_phrase(p, language, random, usual) for p in (clause.subject, clause.object))
    location: list[str] = []
    if clause.place is not None:
        adposition, ground = function["adposition"][clause.adposition], _phrase(clause.place, language, random, usual)
        location = [*ground, adposition] if recipe.postpositions else [adposition, *ground]
    adverb = [] if clause.adverb is None else [function["adverb"][clause.adverb]]
    if recipe.verb_last:
        return [*adverb, *subject, *location, *thing, *verb]
    return [*adverb, *subject, *verb, *thing, *location]


def _phrase(phrase: Phrase, language: Language, random: Random, usual: float) -> list[str]:
    noun = language.inflect(phrase.noun, _word(phrase.noun, language, random, usual), marked=phrase.marked)
    if phrase.noun.kind == "name":
        return [noun]
    first = language.function["determiner"][phrase.determiner] if phrase.number is None else str(phrase.number)
    adjective = [] if phrase.adjective is None else [_word(phrase.adjective, language, random, usual)]
    return [first, *adjective, noun] if language.recipe.adjective_first else [first, noun, *adjective]


def _word(concept: Concept, language: Language, random: Random, usual: float) -> str:
    forms = language.forms[concept.number]
    return forms[0] if len(forms) == 1 or random.random() < usual else random.choice(forms[1:])
