"""The concepts of all three languages, grouped in scenes, which are grouped in topics.

A topic is a class of the labelled data. A scene is a part of a topic whose concepts turn up together (the mill within
farming), which gives word vectors something finer than the topic to learn. General concepts belong to no topic.
"""

from collections.abc import Iterator
from dataclasses import dataclass

TOPICS = ("craft", "farming", "healing", "sailing", "trade", "weather")
TOPIC_SHARES = (0.21, 0.23, 0.14, 0.19, 0.13, 0.10)  # moderately unbalanced, as Taxi1500 and SIB-200 are
SCENES_PER_TOPIC = 5
SCENE_SIZES = {"noun": 7, "verb": 4, "adjective": 3}
GENERAL_SIZES = {"noun": 70, "verb": 40, "adjective": 30}
NAMES_PER_TOPIC = 6  # people and places known for one topic; every language spells them alike
GENERAL = -1


@dataclass(frozen=True)
class Concept:
    """One meaning. `topic` and `scene` are GENERAL for concepts that fit everywhere; a scene's number is global."""

    number: int
    kind: str
    topic: int
    scene: int


def all_concepts() -> tuple[Concept, ...]:
    """Every concept; its place in the tuple is its number."""
    kinds = ((kind, GENERAL, GENERAL) for kind in _repeat(GENERAL_SIZES))
    scenes = (
        (kind, topic, topic * SCENES_PER_TOPIC + scene)
        for topic in range(len(TOPICS))
        for scene in range(SCENES_PER_TOPIC)
        for kind in _repeat(SCENE_SIZES)
    )
    names = (("name", topic, GENERAL) for topic in range(len(TOPICS)) for _ in range(NAMES_PER_TOPIC))
    return tuple(Concept(number, *rest) for number, rest in enumerate([*kinds, *scenes, *names]))


def _repeat(sizes: dict[str, int]) -> Iterator[str]:
    return (kind for kind, size in sizes.items() for _ in range(size))


CONCEPTS = all_concepts()
