import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedwise.errors import RequestError
from seedwise.trainables.inputs.synonyms import read_synonyms
from tests.conftest import real


def written(folder, name, content):
    path, content = folder / name, content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_json_as_the_neighbours_are_published(tmp_path, name):
    content = {"good": ["nice", "good", "fine", "nice"], "film": [], "of course": ["by all means", ""]}
    result = read_synonyms(written(tmp_path, name, json.dumps(content)), "k")
    assert result.words == {"good": ("nice", "fine"), "film": (), "of course": ("by all means",)}
    assert list(result.words) == list(content)
    assert result.notes == ()


@pytest.mark.parametrize("name", ["a.tsv", "a.txt.gz"])
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("good\tnice\tfine", ("nice", "fine")),
        ("good\tnice,fine", ("nice", "fine")),
        ("good\tnice; fine ;", ("nice", "fine")),
        ("good\tnice fine", ("nice", "fine")),
        ("good\twell made, fine", ("well made", "fine")),
        ("good\twell made\tfine", ("well made", "fine")),
        (" good \t nice  fine \t", ("nice", "fine")),
        ("good\tnice,good,fine,nice", ("nice", "fine")),
    ],
)
def test_lines_with_every_separator(tmp_path, name, line, expected):
    for ends in ("", "\n", "\r\n"):
        path = written(tmp_path, name, line + ends)
        assert read_synonyms(path, "k").words == {"good": expected}


def test_a_repeated_word_has_the_synonyms_of_all_its_lines_in_order(tmp_path):
    path = written(
        tmp_path, "a.txt", "\ufeffgood\tnice,fine\nof course\tby all means;sure\n\ngood\tfine,great\nfilm\t\n"
    )
    result = read_synonyms(path, "k")
    assert result.words == {"good": ("nice", "fine", "great"), "of course": ("by all means", "sure"), "film": ()}
    assert result.notes == ()


def test_malformed_lines_are_left_out_and_noted(tmp_path):
    path = written(tmp_path, "a.txt", "good\tnice\nbad poor\n\tpoor\nbad\tpoor\n \t \nfilm\tmovie\n")
    result = read_synonyms(path, "k")
    assert result.words == {"good": ("nice",), "bad": ("poor",), "film": ("movie",)}
    assert result.notes == ("2 malformed lines (line 2, 3)",)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bad.json", "{", "not JSON: "),
        ("bad.json", '["good", "nice"]', "is list, not an object of words"),
        ("bad.json", '{"good": "nice"}', "'good' has 'nice', which is not a list of words"),
        ("bad.json", '{"good": ["nice"], "bad": [1]}', r"'bad' has \[1\], which is not a list of words"),
        ("bad.json", '{"good": ["good"], "bad": []}', "holds no word with a synonym"),
        ("bad.json", "{}", "holds no word with a synonym"),
        ("bad.txt", "", "holds no word with a synonym"),
        ("bad.txt", "good\t\n", "holds no word with a synonym"),
        ("bad.txt", "good\tgood\n", "holds no word with a synonym"),
        ("bad.txt", "good nice\nbad poor\nfilm\tmovie\n", r"2 malformed lines \(line 1, 2\)"),
        ("bad.txt", b"good\tnice\nbad\t\xff\n", "line 2 is not UTF-8"),
    ],
)
def test_errors_are_one_line_with_key_file_and_fix(tmp_path, name, content, message):
    with pytest.raises(RequestError, match=rf"^inputs.synonyms: .*{name}.*{message}") as raised:
        read_synonyms(written(tmp_path, name, content), "inputs.synonyms")
    assert "\n" not in str(raised.value)
    assert "Write a JSON object" in str(raised.value) or "Save it as UTF-8" in str(raised.value)


def test_a_long_value_is_shown_in_part(tmp_path):
    with pytest.raises(RequestError) as raised:
        read_synonyms(written(tmp_path, "a.json", json.dumps({"good": "x" * 10_000})), "k")
    assert len(str(raised.value).replace(str(tmp_path), "")) < 300


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(RequestError, match=r"inputs.synonyms: .*none.json"):
        read_synonyms(tmp_path / "none.json", "inputs.synonyms")
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(gzip.compress(json.dumps({"good": ["nice"] * 1000}).encode())[:40])
    with pytest.raises(RequestError, match=r"inputs.synonyms: .*cut.json.gz.*whole file"):
        read_synonyms(cut, "inputs.synonyms")


WORD = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=5)


@settings(max_examples=40)
@given(st.dictionaries(WORD, st.lists(WORD, min_size=1, max_size=4), min_size=1, max_size=8))
def test_lines_and_json_read_alike(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("synonyms")
    expected = {
        word: tuple(synonym for synonym in dict.fromkeys(synonyms) if synonym != word)
        for word, synonyms in content.items()
    }
    files = {"a.json": json.dumps(content, ensure_ascii=False), "b.json": json.dumps(content, indent=1)}
    files |= {
        f"{number}.txt": "\n".join(f"{word}\t{separator.join(synonyms)}" for word, synonyms in content.items())
        for number, separator in enumerate(["\t", ",", "; ", " "])
    }
    for name, text in files.items():
        path = written(folder, name, text)
        if any(expected.values()):
            assert read_synonyms(path, "k").words == expected
        else:
            with pytest.raises(RequestError, match="holds no word with a synonym"):
                read_synonyms(path, "k")


def test_the_real_neighbours_are_read_whole():
    (path,) = real("data/ear/counterfitted_neighbors.json")
    content = json.loads(path.read_text())
    result = read_synonyms(path, "k")
    assert result.words.keys() == content.keys()
    assert all([*synonyms] == content[word] for word, synonyms in result.words.items())
    assert result.notes == ()
