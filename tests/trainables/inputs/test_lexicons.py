import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedwise.errors import RequestError
from seedwise.trainables.inputs.lexicons import Entry, read_lexicon, read_words
from tests.conftest import real


@pytest.mark.parametrize("name", ["lexicon.txt", "lexicon.txt.gz"])
def test_space_tab_multi_word_and_quality(tmp_path, name):
    text = "\ufeffdog chien\r\n\ndog\tchien\nto go\taller\t0.5\nfour words stand here\ncat chat 0.25\n"
    text += "x y z\ntab\t\nto go\taller\t0.75\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    lexicon = read_lexicon(path, "k")
    assert lexicon.entries == [
        Entry("dog", "chien", None),
        Entry("to go", "aller", 0.75),
        Entry("cat", "chat", 0.25),
    ]
    assert lexicon.notes == ("3 malformed lines (line 5, 7, 8)", "2 repeated pairs (line 3, 9)")
    lexicon = read_lexicon(path, "k", quality=0.5)
    assert [entry.source for entry in lexicon.entries] == ["dog", "to go"]
    assert lexicon.notes[-1] == "1 of 3 pairs below quality 0.5"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"one\n", "holds no pairs"),
        (b"", "holds no pairs"),
        (b"a b\nc \xff\n", "line 2 is not UTF-8"),
        (b"a b 0.5\nc d 0.75\n", r"no pair of quality 0.9 or more, the best has 0.75"),
    ],
)
def test_errors_of_bad_lexica_name_key_file_and_line(tmp_path, content, message):
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    with pytest.raises(RequestError, match=f"inputs.lexicons.xx: .*bad.txt.*{message}"):
        read_lexicon(path, "inputs.lexicons.xx", quality=0.9)


def test_a_cut_archive_is_an_error(tmp_path):
    path = tmp_path / "cut.txt.gz"
    path.write_bytes(gzip.compress(b"dog chien\n" * 1000)[:40])
    with pytest.raises(RequestError, match=r"inputs.lexicons.xx: .*cut.txt.gz.*whole file"):
        read_lexicon(path, "inputs.lexicons.xx")


def test_a_damaged_archive_is_an_error(tmp_path):
    path, content = tmp_path / "bad.txt.gz", bytearray(gzip.compress(b"dog chien\n" * 1000))
    content[20:30] = b"\xff" * 10
    path.write_bytes(content)
    with pytest.raises(RequestError, match=r"inputs.lexicons.xx: .*bad.txt.gz.*whole file"):
        read_lexicon(path, "inputs.lexicons.xx")


def test_a_file_in_another_format_is_an_error_and_a_trailing_tab_is_not(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("dog\tchien\t\n")
    assert read_lexicon(path, "k").entries == [Entry("dog", "chien", None)]
    path.write_text("once upon a time there\nwas a dog and a cat\ndog chien\n")
    with pytest.raises(RequestError, match=r"k: .*a.txt: 2 malformed lines \(line 1, 2\)"):
        read_lexicon(path, "k")


WORD = st.text(st.characters(categories=["L", "N", "P"]), min_size=1)


@settings(max_examples=40)
@given(st.lists(st.tuples(WORD, WORD, st.none() | st.floats(-1, 1)), min_size=1, max_size=20), st.sampled_from(" \t"))
def test_what_is_written_is_read_in_order_with_the_best_quality(tmp_path_factory, entries, separator):
    path = tmp_path_factory.mktemp("lexicon") / "a.txt"
    lines = (separator.join(str(part) for part in entry if part is not None) for entry in entries)
    path.write_text("\n".join(lines), encoding="utf-8")
    expected = []
    for pair in dict.fromkeys((source, target) for source, target, _ in entries):
        values = [quality for *other, quality in entries if tuple(other) == pair and quality is not None]
        expected.append(Entry(*pair, max(values) if values else None))
    assert read_lexicon(path, "k").entries == expected


def test_real_lexica_are_read_whole():
    yacle, freedict = real("data/lexica/xling-eval/yacle.train.freq.5k.en-fr.tsv", "data/lexica/freedict/en-tr.txt.gz")
    for path, opener in ((yacle, open), (freedict, gzip.open)):
        pairs = dict.fromkeys(tuple(line.split()) for line in opener(path, "rt", encoding="utf-8"))
        assert [entry[:2] for entry in read_lexicon(path, "k").entries] == list(pairs)


def test_word_lists(tmp_path):
    path = tmp_path / "stop.txt"
    path.write_bytes("\ufeffle\r\n\n la \nle\n".encode())
    assert read_words(path, "k") == {"le", "la"}
