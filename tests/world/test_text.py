"""The generator: the same text everywhere, labels that fit, languages that differ as docs/world.md claims."""

import csv
import gzip
import json
from collections import Counter

import pytest

from seedwise.trainables.world import FILES, SOURCE, TARGETS, path
from tools.world.build import SIZES, texts
from tools.world.concepts import CONCEPTS, TOPICS
from tools.world.language import make_languages

LANGUAGES = (SOURCE, *TARGETS)


@pytest.fixture(scope="module")
def fresh() -> dict[str, str]:
    return texts(0)


@pytest.fixture(scope="module")
def languages():
    return make_languages(0)


def shipped(name: str) -> str:
    data = path(name).read_bytes()
    return (gzip.decompress(data) if name.endswith(".gz") else data).decode()


def rows(language: str, split: str) -> list[dict[str, str]]:
    return list(csv.DictReader(shipped(f"topics/{language}/{split}.tsv").splitlines(), dialect="excel-tab"))


def test_the_shipped_text_is_what_the_generator_writes(fresh):
    assert [name for name, content in fresh.items() if shipped(name) != content] == []


def test_another_seed_gives_other_languages(languages):
    other = make_languages(1)
    shared = set(languages[SOURCE].forms) & set(other[SOURCE].forms)
    assert len(shared) < len(CONCEPTS) / 20


def test_all_files_together_stay_below_five_megabytes():
    assert sum(file.stat().st_size for file in FILES.rglob("*") if file.is_file()) < 5_000_000


def test_an_unknown_name_is_refused_with_what_there_is():
    with pytest.raises(FileNotFoundError, match="lexicons"):
        path("vectors/eng.vec.gz")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_split_has_its_size_and_only_known_labels(language):
    assert shipped(f"topics/{language}/labels.txt").split() == list(TOPICS)
    for split, size in SIZES.items():
        if split == "train" and language != SOURCE:
            continue
        counts = Counter(row["category"] for row in rows(language, split))
        assert sum(counts.values()) == size
        assert set(counts) == set(TOPICS)
        assert 1.5 < max(counts.values()) / min(counts.values()) < 5  # unbalanced, but no class is rare


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_the_same_index_is_the_same_topic_in_every_language(split):
    labels = [[(row["index_id"], row["category"]) for row in rows(language, split)] for language in LANGUAGES]
    assert labels[0] == labels[1] == labels[2]


def test_no_labelled_sentence_occurs_in_another_split():
    train, dev, test = ({row["text"] for row in rows(SOURCE, split)} for split in SIZES)
    assert len(train | dev | test) == len(train) + len(dev) + len(test)


@pytest.mark.parametrize(("target", "least", "most"), [("qan", 0.11, 0.20), ("qor", 0.02, 0.07)])
def test_the_share_of_words_spelled_alike_is_as_documented(target, least, most):
    pairs = [line.split(" ") for line in shipped(f"lexicons/{SOURCE}-{target}.txt").splitlines()]
    covered = {a for a, _ in pairs}
    alike = {a for a, b in pairs if a == b}
    assert least < len(alike) / len(covered) < most


@pytest.mark.parametrize(("target", "least", "most"), [("qan", 0.09, 0.21), ("qor", 0.18, 0.32)])
def test_a_share_of_the_lexicon_is_wrong(languages, target, least, most):
    right = set(true_pairs(languages[SOURCE], languages[target]))
    pairs = [tuple(line.split(" ")) for line in shipped(f"lexicons/{SOURCE}-{target}.txt").splitlines()]
    assert least < sum(pair not in right for pair in pairs) / len(pairs) < most


@pytest.mark.parametrize("target", TARGETS)
def test_some_lexicon_words_have_no_vector_and_some_have_several_translations(target):
    pairs = [line.split(" ") for line in shipped(f"lexicons/{SOURCE}-{target}.txt").splitlines()]
    words = {line.split(" ")[0] for line in shipped(f"vectors/{target}.vec.gz").splitlines()[1:]}
    assert 0.05 < sum(b not in words for _, b in pairs) / len(pairs) < 0.5
    assert max(Counter(a for a, _ in pairs).values()) > 1


def test_synonyms_name_the_same_concept_and_many_words_have_none(languages):
    synonyms = json.loads(shipped(f"synonyms/{SOURCE}.json"))
    concepts: dict[str, set[int]] = {}
    for concept in CONCEPTS:
        for form in languages[SOURCE].forms[concept.number]:
            for marked in (False, True):
                word = languages[SOURCE].inflect(concept, form, marked=marked)
                concepts.setdefault(word, set()).add(concept.number)
    pairs = [(word, other) for word, others in synonyms.items() for other in others]
    true = sum(bool(concepts[word] & concepts[other]) for word, other in pairs) / len(pairs)
    assert 0.8 < true < 1  # the rest are only related words, as in published lists
    assert 0.2 < sum(not others for others in synonyms.values()) / len(synonyms) < 0.6


def test_the_distant_language_ends_its_clauses_with_the_verb(languages):
    distant = languages["qor"]
    verbs = {
        distant.inflect(concept, form, marked=marked)
        for concept in CONCEPTS
        if concept.kind == "verb"
        for form in distant.forms[concept.number]
        for marked in (False, True)
    }
    assert all(row["text"].split()[-2] in verbs for row in rows("qor", "dev"))


def true_pairs(source, target):
    for concept in CONCEPTS:
        forms = []
        for language in (source, target):
            bookish = language.bookish.get(concept.number)
            forms.append([*language.forms[concept.number], *([bookish] if bookish else [])])
        for a in forms[0]:
            for b in forms[1]:
                yield a, b
                yield source.inflect(concept, a, marked=True), target.inflect(concept, b, marked=True)
    for kind, words in source.function.items():
        yield from zip(words, target.function[kind], strict=True)
