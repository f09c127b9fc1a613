"""Word similarity tests in their published formats."""

import pytest

from seedwise.errors import RequestError
from seedwise.trainables.static.similarity import read_judgements


def written(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tiger cat 7.35\ntiger tiger 10.00\n", [("tiger", "cat", 7.35), ("tiger", "tiger", 10.0)]),
        ("tiger\tcat\t7.35\n\n", [("tiger", "cat", 7.35)]),
        ("United States\tParis\t1\n", [("United States", "Paris", 1.0)]),
        ("tiger   cat \t 2\n", None),  # a tab and then too few columns
    ],
)
def test_words_and_scores_are_read_unchanged(tmp_path, text, expected):
    path = written(tmp_path, "EN_WS-353.txt", text)
    if expected is None:
        with pytest.raises(RequestError, match=r"1 malformed line \(line 1\)\. Each line is: word, word, score"):
            read_judgements(path, "tests.en")
    else:
        assert read_judgements(path, "tests.en") == expected


def test_a_header_and_phrases_between_spaces_are_left_out(tmp_path):
    path = written(tmp_path, "EN.txt", "Word1\tWord2\tScore\na b 1\nnew york paris 2\nc d 3\ne f nan\ng h 4\n")
    assert [first for first, _, _ in read_judgements(path, "tests.en")] == ["a", "c", "g"]


@pytest.mark.parametrize("folder", ["data", "keys"])
def test_scores_of_semeval_are_found_beside_the_words_or_among_the_keys(tmp_path, folder):
    path = written(tmp_path, "data/en-de.test.data.txt", "Paris\tBerlin\nUnited States\tObst\n")
    written(tmp_path, f"{folder}/en-de.test.gold.txt", "3.5\n0.25\n")
    assert read_judgements(path, "tests.en") == [("Paris", "Berlin", 3.5), ("United States", "Obst", 0.25)]


def test_missing_and_incomplete_scores_of_semeval_are_named(tmp_path):
    path = written(tmp_path, "data/en.test.data.txt", "a\tb\nc\td\n")
    with pytest.raises(RequestError, match=r"tests\.en: .*en\.test\.data\.txt: there is no en\.test\.gold\.txt"):
        read_judgements(path, "tests.en")
    written(tmp_path, "data/en.test.gold.txt", "1\n")
    with pytest.raises(RequestError, match=r"has 2 lines and .*gold\.txt 1\. Each pair needs its score"):
        read_judgements(path, "tests.en")


def test_an_empty_file_holds_no_pairs(tmp_path):
    with pytest.raises(RequestError, match=r"tests\.en: .*empty\.txt: no pairs\."):
        read_judgements(written(tmp_path, "empty.txt", "\n"), "tests.en")
