"""Sentence pairs in every published layout."""

import csv
import io
from collections import Counter
from pathlib import Path

import pytest

from seedwise.errors import RequestError
from seedwise.trainables.request import Task
from seedwise.trainables.tasks.sources import Classification
from tests.conftest import real
from tests.trainables.tasks.test_sources import task, write

NLI = ["entailment", "neutral", "contradiction"]
PAIRS = [('He said "no".', '"No", he said.'), ("A dog, asleep.", 'An " in the middle'), ("NA", "1.50")]
HEADER = (
    "language\tgold_label\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_parse\t"
    "sentence1\tsentence2\tpromptID\tpairID\tgenre\tlabel1\tlabel2\tlabel3\tlabel4\tlabel5\t"
    "sentence1_tokenized\tsentence2_tokenized\tmatch\n"
)


def plain(header: str, *rows: tuple) -> str:
    return header + "".join("\t".join(map(str, row)) + "\n" for row in rows)


# XTREME's scripts.


def xtreme(*rows: tuple) -> str:
    """Rows as XTREME's scripts write them: tabs, quoted fields if they hold quotes, and csv's line ends."""
    file = io.StringIO(newline="")
    csv.writer(file, delimiter="\t").writerows(rows)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("xnli", {language: [830, 830, 830] for language in ("en", "fr", "de", "es", "tr", "sw")}),
        ("pawsx", {"en": [1137, 863], "fr": [1140, 860], "de": [1169, 831], "es": [1153, 847]}),
    ],
)
def test_the_dev_sets_of_xtreme_are_what_a_csv_reader_gives(name, counts):
    (folder,) = real(f"data/{name}")
    labelled = task(name, folder, "en", tuple(counts)[1:])
    for language, sizes in counts.items():
        with open(folder / f"dev-{language}.tsv", encoding="utf-8", newline="") as file:
            rows = [tuple(row) for row in csv.reader(file, delimiter="\t")]
        texts, classes = labelled.split(language, "dev")
        assert texts == [row[:2] for row in rows]
        assert [labelled.labels[number] for number in classes] == [row[2] for row in rows]
        assert [Counter(classes)[number] for number in range(len(sizes))] == sizes
    with pytest.raises(RequestError, match=r"task.source: .*train-en.tsv is missing"):  # there are only dev sets
        labelled.check(test=False)


def test_the_dev_sets_of_xnli_have_the_same_classes_row_by_row():
    (folder,) = real("data/xnli")
    labelled = task("xnli", folder, "en", ("fr", "sw"))
    assert labelled.parallel
    assert labelled.split("en", "dev")[1] == labelled.split("fr", "dev")[1] == labelled.split("sw", "dev")[1]


def test_quotes_of_xtreme_are_no_part_of_a_sentence():
    (folder,) = real("data/pawsx")
    texts, _ = task("pawsx", folder, "en", ("de",)).split("de", "dev")
    assert texts[264] == (
        'Die "IPA" besteht aus 500 ergänzenden, 300 Basis-Symbolen und 200 zusätzlichen Symbolen.',
        "Das „IPA” besteht aus 500 komplementären, 300 einfachen und 200 zusätzlichen Symbolen.",
    )


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(("name", "labels"), [("xnli", NLI), ("pawsx", ["0", "1"])])
def test_test_files_without_labels_are_refused_before_a_search(tmp_path, name, labels, suffix):
    rows = [(*pair, labels[-1 - index % 2]) for index, pair in enumerate(PAIRS)]
    for language in ("en", "fr"):
        for split in ("train", "dev"):
            write(tmp_path / f"{split}-{language}.tsv{suffix}", xtreme(*rows))
        write(tmp_path / f"test-{language}.tsv{suffix}", xtreme(*PAIRS))
    labelled = task(name, tmp_path, "en", ("fr",))
    labelled.check(test=False, target_train=True)
    last = len(labels) - 1
    assert (labelled.pairs, labelled.labels) == (True, labels)
    assert labelled.split("fr", "dev") == (PAIRS, [last, last - 1, last])
    columns = "premise, hypothesis" if name == "xnli" else "sentence1, sentence2"
    message = (
        rf"^task.data: .*test-en.tsv{suffix} has 2 columns in its first line, not {columns}, label\. XTREME leaves the "
        r"labels out of its test files: use labelled ones, for example those of XNLI-1.0, of PAWS-X's x-final or of "
        r"the hub\.$"
    )
    with pytest.raises(RequestError, match=message):
        labelled.check(test=True)
    with pytest.raises(RequestError, match=message):
        labelled.split("en", "test")
    for language in ("en", "fr"):
        write(tmp_path / f"test-{language}.tsv{suffix}", xtreme(*rows))
    labelled.check(test=True)
    assert labelled.split("fr", "test")[0] == PAIRS


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "b", "neutral"), ("a", "", "neutral")], r"row 2 has no second text\. Correct it, or remove the row\."),
        ([("a", "b", "neutral"), (" ", "b", "neutral")], r"row 2 has no text\. Correct it, or remove the row\."),
        ([("a", "b", "neutral"), ("a", "b", "-")], r"row 2: '-' is not among the labels of en: entailment, "),
        ([("a", "b", "neutral"), ("a", "b")], "row 2 has no label"),
        ([("a", "b", "neutral", "x")], r"dev-en.tsv has 4 columns in its first line, not .*label\. Correct it\.$"),
        ([], r"dev-en.tsv is empty\. Add examples, or name another file\."),
    ],
)
def test_a_bad_pair_is_a_one_line_error_with_its_location(tmp_path, rows, message):
    write(tmp_path / "dev-en.tsv", xtreme(*rows))
    with pytest.raises(RequestError, match=message) as raised:
        task("xnli", tmp_path, "en", ()).split("en", "dev")
    assert "dev-en.tsv" in str(raised.value)
    assert "\n" not in str(raised.value)


# The original releases.


def xnli_row(language: str, label: str, first: str, second: str) -> tuple:
    return (language, label, "", "", "", "", first, second, 1, 2, "fiction", *[label] * 5, first, second, "True")


def xnli_1(folder: Path, *rows: tuple) -> Path:
    """The folder with both archives unpacked; `rows` replace those of the dev set."""
    languages = ("en", "fr")
    usual = [xnli_row(language, "neutral", f"{language} {a}", b) for a, b in PAIRS for language in languages]
    write(folder / "XNLI-1.0/xnli.dev.tsv", plain(HEADER, *(rows or usual)))
    write(folder / "XNLI-1.0/xnli.test.tsv", plain(HEADER, *usual[::-1]))
    for language in languages:
        labels = ("contradictory", "entailment", "neutral")
        train = [(*pair, label) for pair, label in zip(PAIRS, labels, strict=True)]
        path = folder / f"XNLI-MT-1.0/multinli/multinli.train.{language}.tsv"
        write(path, plain("premise\thypo\tlabel\n", *train))
    return folder


def test_xnli_as_first_published(tmp_path):
    labelled = task("xnli", xnli_1(tmp_path), "en", ("fr",))
    labelled.check(test=True, target_train=True)
    assert labelled.labels == NLI
    assert labelled.split("en", "train") == (PAIRS, [2, 0, 1])  # contradictory is contradiction
    assert labelled.split("fr", "dev") == ([(f"fr {a}", b) for a, b in PAIRS], [1, 1, 1])
    assert labelled.split("en", "test")[0] == [(f"en {a}", b) for a, b in PAIRS[::-1]]
    assert [path.name for path in labelled.paths()] == [
        "xnli.dev.tsv",
        "xnli.test.tsv",
        "multinli.train.en.tsv",
        "multinli.train.fr.tsv",
    ]


def test_row_numbers_of_xnli_count_all_languages_of_the_file(tmp_path):
    rows = [xnli_row("en", "neutral", "a", "b"), xnli_row("fr", "neutral", "a", "b")]
    for bad, message in [
        (("fr", "-", "a", "b"), r"fr: .*xnli.dev.tsv row 3: '-' is not among the labels of"),
        (("fr", "neutral", "a", " "), r"xnli.dev.tsv row 3 has no second text\."),
    ]:
        data = xnli_1(tmp_path, *rows, xnli_row(*bad))
        assert task("xnli", data, "en", ()).split("en", "dev") == ([("a", "b")], [1])
        with pytest.raises(RequestError, match=message):
            task("xnli", data, "en", ()).split("fr", "dev")


def test_languages_that_xnli_lacks_are_found_before_a_search(tmp_path):
    xnli_1(tmp_path)
    with pytest.raises(RequestError, match=r"task.targets: sw: .* has no such language\. There are: en, fr\."):
        task("xnli", tmp_path, "en", ("sw",)).check(test=False)
    write(tmp_path / "XNLI-1.0/xnli.test.tsv", plain(HEADER, xnli_row("en", "neutral", "a", "b")))
    with pytest.raises(RequestError, match=r"fr: .*xnli.test.tsv has no such language\. The confirmation reads it\."):
        task("xnli", tmp_path, "en", ("fr",)).check(test=True)
    (tmp_path / "XNLI-MT-1.0/multinli/multinli.train.en.tsv").unlink()
    with pytest.raises(RequestError, match=r"task.source: .*multinli.train.en.tsv is missing\."):
        task("xnli", tmp_path, "en", ("fr",)).check(test=False)


def test_an_unknown_label_in_a_training_set(tmp_path):
    path = xnli_1(tmp_path) / "XNLI-MT-1.0/multinli/multinli.train.en.tsv"
    write(path, plain("premise\thypo\tlabel\n", ("a", "b", "neutral"), ("a", "b", "-")))
    with pytest.raises(RequestError, match=r"train.en.tsv row 2: label is '-', not one of entailment, neutral,"):
        task("xnli", tmp_path, "en", ()).split("en", "train")


@pytest.mark.parametrize("below", ["", "x-final"])
def test_pawsx_as_first_published(tmp_path, below):
    for language, train in (("en", "train"), ("fr", "translated_train")):
        for index, name in enumerate((train, "dev_2k", "test_2k")):
            rows = [(number, f"{index} {a}", b, number % 2) for number, (a, b) in enumerate(PAIRS, start=1)]
            path = tmp_path / "x-final" / language / f"{name}.tsv"
            write(path, plain("id\tsentence1\tsentence2\tlabel\n", *rows))
    labelled = task("pawsx", tmp_path / below, "en", ("fr",))
    labelled.check(test=True, target_train=True)
    assert labelled.labels == ["0", "1"]
    for index, split in enumerate(("train", "dev", "test")):
        for language in ("en", "fr"):
            assert labelled.split(language, split) == ([(f"{index} {a}", b) for a, b in PAIRS], [1, 0, 1])
    assert len(labelled.paths()) == 6
    assert task("pawsx", tmp_path / below, "en", (), splits={"dev": "test_2k"}).name_of("test") == "test_2k"
    (tmp_path / "x-final/fr/dev_2k.tsv").unlink()
    with pytest.raises(RequestError, match=r"task.targets: .*x-final/fr/dev_2k.tsv is missing\. Add it, or drop fr\."):
        labelled.check(test=False)


def test_untranslated_rows_of_pawsx_are_left_out_of_training_only(tmp_path):
    rows = [(1, "a b", "c d", 1), (2, "", "", 0), (3, "e", "", 1), (4, "f", "g", 0)]
    for name in ("translated_train", "dev_2k"):
        write(tmp_path / f"fr/{name}.tsv", plain("id\tsentence1\tsentence2\tlabel\n", *rows))
    labelled = task("pawsx", tmp_path, "fr", ())
    assert labelled.split("fr", "train") == ([("a b", "c d"), ("f", "g")], [1, 0])
    assert len(labelled.notes) == 1
    assert "2 blank rows (row 2, 3) left out" in labelled.notes[0]
    with pytest.raises(RequestError, match="row 2 has no text"):
        labelled.split("fr", "dev")


def test_a_folder_without_a_known_layout_gets_an_error_with_all_layouts(tmp_path):
    with pytest.raises(RequestError, match=r"it has no {split}-{language}.tsv or XNLI-1.0/xnli.{split}.tsv, and no"):
        task("xnli", tmp_path, "en", ())


# The hub, and custom columns.


@pytest.mark.parametrize(
    ("name", "columns", "labels"),
    [("xnli", ("premise", "hypothesis"), NLI), ("pawsx", ("sentence1", "sentence2"), ["0", "1"])],
)
def test_pairs_in_the_hubs_format(tmp_path, name, columns, labels):
    from datasets import ClassLabel, Dataset, Features, Value

    kinds = Features({column: Value("string") for column in columns} | {"label": ClassLabel(names=labels)})
    card = "---\nconfigs:\n"
    for language in ("en", "fr"):
        card += f"- config_name: {language}\n  data_files:\n"
        (tmp_path / language).mkdir()
        for split in ("train", "validation", "test"):
            rows = {columns[0]: [f"{language} {split}", "x"], columns[1]: ["y", "z"], "label": [1, 0]}
            if (language, split) == ("fr", "test"):
                rows[columns[1]][1] = ""
            Dataset.from_dict(rows, features=kinds).to_parquet(tmp_path / language / f"{split}.parquet")
            card += f"  - split: {split}\n    path: {language}/{split}.parquet\n"
    (tmp_path / "README.md").write_text(card + "---\n")
    labelled = task(name, tmp_path, "en", ("fr",))
    labelled.check(test=True)
    assert labelled.labels == labels
    assert labelled.split("fr", "dev") == ([("fr validation", "y"), ("x", "z")], [1, 0])
    with pytest.raises(RequestError, match=r"\(fr, test\) row 2 has no second text\."):
        labelled.split("fr", "test")
    with pytest.raises(RequestError, match=r"has no column 'b'\. It has: .*, label\. Name it by .*task.second"):
        task(name, tmp_path, "en", (), second="b").split("en", "dev")


def test_any_table_has_pairs_if_task_second_names_a_column(tmp_path):
    write(tmp_path / "dev-aa.csv", 'a,b,label\nx,"y, z",1\nu,v,0\n')
    data, names = f"{tmp_path}/{{split}}-{{language}}.csv", {"text": "a", "labels": [0, 1]}
    pair, single = task("text", data, second="b", **names), task("text", data, **names)
    assert (pair.pairs, single.pairs) == (True, False)
    assert pair.split("aa", "dev") == ([("x", "y, z"), ("u", "v")], [1, 0])
    assert single.split("aa", "dev") == (["x", "u"], [1, 0])
    with pytest.raises(RequestError, match=r"has no column 'c'\. It has: a, b, label\. Name it by .*task.second"):
        task("text", data, second="c", **names).split("aa", "dev")


def test_columns_of_xnli_may_have_other_names(tmp_path):
    write(tmp_path / "dev-en.jsonl", '{"a": "x", "b": "y", "gold": "neutral"}\n')
    labelled = task("xnli", f"{tmp_path}/{{split}}-{{language}}.jsonl", "en", (), text="a", second="b", label="gold")
    assert labelled.split("en", "dev") == ([("x", "y")], [1])


@pytest.mark.parametrize("name", ["sib200", "taxi1500", "amazon"])
def test_tasks_of_single_sentences_have_no_second(name):
    message = rf"^task.second: b: {name} has single sentences\. Remove it, or choose text, xnli, pawsx\.$"
    with pytest.raises(RequestError, match=message):
        task(name, "owner/name", second="b")
    assert not task(name, "owner/name").pairs


def test_which_dev_sets_are_translations_of_each_other():
    names = ("sib200", "taxi1500", "amazon", "xnli", "pawsx", "text")
    labelled = {
        name: Classification(Task(name=name, data="owner/name", source="en", targets=[])).parallel for name in names
    }
    assert [name for name, parallel in labelled.items() if parallel] == ["sib200", "xnli", "pawsx"]
