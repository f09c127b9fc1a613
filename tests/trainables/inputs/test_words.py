import csv
import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedwise.trainables.inputs import words as module
from seedwise.trainables.inputs.vectors import read_vectors
from seedwise.trainables.inputs.words import Words
from tests.conftest import real


def test_long_rows_of_signs_are_not_recognised_as_entries():
    made = words(["eau", *("=" * n for n in range(1, 900)), "x-" * 400, "a-b"])
    assert made.split(["eau a-b x-x"]) == [["eau", "a-b", "x", "-", "x"]]


def test_turkish_casings():
    assert words(["a"], "tur_Latn").casings("istanbul") == ("İstanbul", "istanbul")
    assert words(["a"], "tur_Latn").casings("IRMAK") == ("Irmak", "ırmak")
    assert words(["a"]).casings("Istanbul") == ("Istanbul", "istanbul")


FRENCH = ["l'", "d’", "eau", "été", "aujourd'hui", "peut-être", "1,5", "...", "-il", "Paris", "'", ".", "la", "</s>"]
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def words(vocabulary, language="fra_Latn", *, splitting="unicode", casing=True):
    return Words(vocabulary, language, splitting=splitting, casing=casing)


def tokenizer(made, max_length=1000):
    return made.tokenizer(SPECIALS, cls="[CLS]", sep="[SEP]", pad="[PAD]", unk="[UNK]", max_length=max_length)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("L'eau, l’été", ["L'", "eau", ",", "l'", "été"]),
        ("e\u0301te\u0301 ÉTÉ", ["été", "ÉTÉ"]),
        ("Aujourd’hui peut-être aujourd'huissier", ["Aujourd'hui", "peut-être", "aujourd", "'", "huissier"]),
        (
            "1,5 1,57 ... .... lit-il lit-ils",
            ["1,5", "1", ",", "57", "...", "...", ".", "lit", "-il", "lit", "-", "ils"],
        ),
        ("d'Paris(«snake_case»)\u200b\t!", ["d'", "Paris", "(", "«", "snake", "_", "case", "»", ")", "\u200b", "!"]),
        ("हिन्दी में, ไทย", ["हिन्दी", "में", ",", "ไทย"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_a_vocabulary_that_elides(text, expected):
    assert words(FRENCH).split([text]) == [expected]


def test_a_vocabulary_with_apostrophes_within_keeps_them_within():
    made = words(["ng'ombe", "ya", "'"], "swh_Latn")
    assert made.split(["Ng’ombe ya ng'ombeni 'ya'"]) == [["ng'ombe", "ya", "ng'ombeni", "'", "ya", "'"]]
    assert made.rows(["Ng’ombe ya ng'ombeni 'ya'"]) == [[0, 1, -1, 2, 1, 2]]


@pytest.mark.parametrize("language", ["tr", "tur", "tur_Latn", "az", "azj_Latn", "aze", "TR-tr"])
def test_turkish_has_two_letters_i_and_apostrophes_before_suffixes(language):
    lower = words(["ılık", "istanbul", "türkiye'de", "ankara", "dan"], language)
    assert lower.split(["ILIK İstanbul I\u0307STANBUL"]) == [["ılık", "istanbul", "istanbul"]]
    assert lower.rows(["Türkiye’de Ankara'dan"]) == [[2, 3, -1, 4]]
    cased = words(["ılık", "istanbul", "Ankara"], language)
    assert cased.rows(["ILIK Ilık İSTANBUL İstanbul Ankara Istanbul ANKARA"]) == [[0, 0, 1, 1, 2, -1, -1]]


def test_other_languages_have_one_letter_i():
    assert words(["istanbul"], "eng_Latn").rows(["ISTANBUL Istanbul"]) == [[0, 0]]


def test_lower_case_stands_in_only_for_words_without_a_row_of_their_own():
    vocabulary = ["paris", "Paris", "eau", "iPhone"]
    made = words(vocabulary)
    assert made.rows(["paris Paris PARIS eau Eau EAU eAU iPhone iphone"]) == [[0, 1, 0, 2, 2, 2, -1, 3, -1]]
    assert list(made.spellings)[:4] == vocabulary
    assert words(vocabulary, casing=False).rows(["PARIS Eau eau"]) == [[-1, -1, 2]]
    assert words(["eau"], casing=False).rows(["Eau eau"]) == [[-1, 0]]


def test_both_apostrophes_and_forms_of_a_letter_are_one_spelling_with_the_first_row():
    made = words(["l’", "l'", "e\u0301", "é", "</s>", "[UNK]", "<unk>"])
    assert made.rows(["l' l’ é e\u0301"]) == [[0, 0, 2, 2]]
    assert {"</s>", "[UNK]", "<unk>"}.isdisjoint(made.spellings)


def test_whitespace_splitting_for_text_that_is_already_split():
    made = words(["l'eau", "(", ")."], splitting="whitespace")
    assert made.rows(["L’eau ( ). l' ).("]) == [[0, 1, 2, -1, -1]]


def test_an_added_word_is_known_and_no_other_row_changes():
    made = words(FRENCH)
    before = dict(made.spellings)
    made.add("inconnu", 99)
    made.add("la", 100)
    assert made.rows(["inconnu la"]) == [[99, FRENCH.index("la")]]
    assert list(made.spellings.items()) == [*before.items(), ("inconnu", 99)]


def test_a_long_list_of_entries_with_signs_is_cut_at_the_rarest(monkeypatch):
    monkeypatch.setattr(module, "MAX_SIGN_ENTRIES", 2)
    assert words(["a-b", "c", "a-c", "a-d", "X"], casing=False).split(["a-b a-c a-d"]) == [
        ["a-b", "a-c", "a", "-", "d"]
    ]


LETTERS = "aAeéE\u0301iIİıℵßΣςक्ि1²-_.,'’ \t\n\u00a0\u200b\u200d([SEP])中"
ENTRY = st.text(LETTERS, min_size=1, max_size=6)
TEXT = st.lists(st.one_of(st.text(LETTERS), st.text(max_size=8), st.sampled_from(SPECIALS))).map(" ".join)


@given(st.data(), st.sampled_from(["unicode", "whitespace"]), st.booleans(), st.sampled_from(["tr", "fra_Latn"]))
def test_the_tokenizer_agrees_with_the_rows_on_every_text(data, splitting, casing, language):
    vocabulary = data.draw(st.lists(ENTRY, min_size=1, max_size=8, unique=True))
    made = words(vocabulary, language, splitting=splitting, casing=casing)
    texts = [*data.draw(st.lists(TEXT, max_size=3)), " ".join(vocabulary)]
    ids = [sentence[1:-1] for sentence in tokenizer(made)(texts)["input_ids"]]
    row_of_id = dict(enumerate(made.spellings.values(), start=len(SPECIALS))) | {SPECIALS.index("[UNK]"): -1}
    assert [[row_of_id[number] for number in sentence] for sentence in ids] == made.rows(texts)


@given(st.lists(ENTRY, max_size=8, unique=True), TEXT)
def test_splitting_loses_nothing_but_white_space(vocabulary, text):
    made = words(vocabulary)
    (split,) = made.split([text])
    assert "".join("".join(split).split()) == "".join(made.normalise(text).split())


LOAD = """
import json, sys
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
assert not [name for name in sys.modules if name.startswith("seedwise")]
print(json.dumps([tokenizer(json.loads(sys.argv[2]), truncation=True)["input_ids"],
    [tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id]]))
"""


def test_a_saved_tokenizer_gives_the_same_ids_without_this_project(tmp_path):
    made = words(FRENCH)
    made.add("inconnu", 99)
    texts = ["L’eau d'aujourd'hui, dit-il... [SEP] e\u0301té inconnu", "mot " * 30, ""]
    here = tokenizer(made, max_length=16)
    here.save_pretrained(tmp_path / "saved")
    command = [sys.executable, "-I", "-c", LOAD, str(tmp_path / "saved"), json.dumps(texts)]
    output = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    ids, specials = json.loads(output)
    assert ids == here(texts, truncation=True)["input_ids"]
    assert [len(sentence) for sentence in ids[1:]] == [16, 2]
    assert specials == [0, 1, 2, 3]
    assert ids[0][0] == 2
    assert ids[0][-1] == 3
    assert len(SPECIALS) + list(made.spellings).index("inconnu") in ids[0]


def test_chinese_is_segmented_by_jieba_and_the_tokenizer_takes_segmented_text():
    jieba = pytest.importorskip("jieba")
    text = "我来到北京清华大学。"
    made = words(["我", "北京", "清华大学", "。"], "zho_Hans", splitting="jieba")
    assert made.split([text]) == [list(jieba.cut(text))]
    assert made.rows([text]) == [[0, -1, 1, 2, 3]]
    ids = tokenizer(made)(" ".join(made.split([text])[0]))["input_ids"]
    assert ids == [2, 5, 1, 6, 7, 8, 3]


def texts_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file, delimiter="\t")]


@pytest.mark.parametrize(("language", "vectors"), [("fra_Latn", "fr.300d"), ("tur_Latn", "tr.100d")])
def test_fewer_words_of_real_text_are_unknown_than_with_plain_splitting(language, vectors):
    path, data = real(f"data/vectors/{vectors}.vec.gz", f"data/sib200/{language}/dev.tsv")
    vocabulary = read_vectors(path, "k", rows=8000).words
    texts = texts_of(data)
    made = words(vocabulary, language)
    known = set(vocabulary)
    plain = [word for text in texts for word in text.split()]
    share_plain = sum(not {word, word.lower()} & known for word in plain) / len(plain)
    # Separate signs are added, since the Turkish vectors have none.
    rows = [
        made.spellings.get(word, -1) for split in made.split(texts) for word in split if any(map(str.isalnum, word))
    ]
    assert sum(row < 0 for row in rows) / len(rows) < share_plain - 0.05
