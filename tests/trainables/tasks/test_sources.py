import csv
import gzip
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedwise.errors import RequestError
from seedwise.search.spec.provenance import checksums
from seedwise.trainables.request import Inputs, Task
from seedwise.trainables.tasks.sources import Classification
from tests.conftest import real

ODD = ["NA", "null", "007", "1.50", "True", "2020-01-01", ' he said "no" ', "été", "#x", "a, b", "nan"]


def write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    return path


def task(
    name: str, data: object, source: str = "aa", targets: tuple[str, ...] = ("bb",), **more: object
) -> Classification:
    return Classification(Task(name=name, data=str(data), source=source, targets=list(targets), **more))


# The published formats.


def test_sib200_as_published():
    (folder,) = real("data/sib200")
    labelled = task("sib200", folder, "eng_Latn", ("fra_Latn",))
    labelled.check(test=True, target_train=True)
    assert len(labelled.labels) == 7
    for language in labelled.languages:
        for split, size in (("train", 701), ("dev", 99), ("test", 204)):
            with open(folder / language / f"{split}.tsv", encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file, delimiter="\t"))
            texts, classes = labelled.split(language, split)
            assert len(texts) == size
            assert texts == [row["text"] for row in rows]
            assert [labelled.labels[number] for number in classes] == [row["category"] for row in rows]
    assert len(labelled.paths()) == 8


def test_taxi1500_as_published_has_the_known_class_counts():
    (folder,) = real("data/taxi1500")
    labelled = task("taxi1500", folder, "eng", ())
    labelled.check(test=True)
    assert [len(labelled.split("eng", split)[0]) for split in ("train", "dev", "test")] == [860, 106, 111]
    counts = Counter(labelled.labels[number] for number in labelled.split("eng", "train")[1])
    known = {"Recommendation": 224, "Faith": 208, "Description": 147, "Sin": 122, "Grace": 112, "Violence": 47}
    assert counts == known
    assert sorted(Counter(labelled.split("eng", "test")[1]).values()) == [7, 14, 16, 19, 26, 29]
    lines = (folder / "eng_test.tsv").read_text(encoding="utf-8").splitlines()
    assert labelled.split("eng", "test")[0] == [line.split("\t")[2] for line in lines]


@pytest.mark.parametrize("below", ["json/", ""])
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("stars", [str, int])
def test_amazon_stars_are_three_classes(tmp_path, below, suffix, stars):
    for language in ("en", "de"):
        for split in ("train", "dev"):
            rows = [{"stars": stars(n), "review_body": f"{language} {n}", "review_title": "t"} for n in range(1, 6)]
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            write(tmp_path / f"{below}{split}/dataset_{language}_{split}.json{suffix}", lines)
    labelled = task("amazon", tmp_path, "en", ("de",))
    labelled.check(test=False)
    assert labelled.split("de", "dev") == ([f"de {n}" for n in range(1, 6)], [0, 0, 1, 2, 2])
    assert labelled.labels == ["negative", "neutral", "positive"]
    with pytest.raises(RequestError, match=r"dataset_en_test\.json is missing\. The confirmation reads it\."):
        labelled.check(test=True)


def test_an_unknown_star_rating(tmp_path):
    path = write(
        tmp_path / "dev/dataset_en_dev.json", '{"stars": "5", "review_body": "x"}\n{"stars": "0", "review_body": "y"}\n'
    )
    with pytest.raises(RequestError, match=rf"{path} row 2: stars is '0', not one of 1, 2, 3, 4, 5\."):
        task("amazon", tmp_path, "en", ()).split("en", "dev")


# Any file.


def table(rows: list[tuple[str, str]], suffix: str) -> str:
    """Rows of a label and a text, in the format of a suffix."""
    if suffix.startswith(".jsonl"):
        return "".join(json.dumps({"n": 1, "label": label, "text": text}) + "\n" for label, text in rows)
    if suffix.startswith(".tsv"):
        return "n\tlabel\ttext\n" + "".join(f"1\t{label}\t{text}\n" for label, text in rows)
    quoted = [f'1,{label},"{text.replace(chr(34), chr(34) * 2)}"\n' for label, text in rows]
    return "n,label,text\n" + "".join(quoted)


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".jsonl", ".tsv.gz", ".csv.gz", ".jsonl.gz"])
def test_any_format_keeps_text_as_it_is(tmp_path, suffix):
    rows = [(label, text) for label in ("NA", "01") for text in ODD]
    for language in ("aa", "bb"):
        for split in ("train", "dev"):
            write(tmp_path / language / f"{split}{suffix}", table(rows, suffix))
    labelled = task("text", f"{tmp_path}/{{language}}/{{split}}{suffix.removesuffix('.gz')}")
    labelled.check(test=False)
    assert labelled.labels == ["01", "NA"]
    assert labelled.split("bb", "dev") == ([text for _, text in rows], [1] * len(ODD) + [0] * len(ODD))


@settings(max_examples=25)
@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=9), min_size=1, max_size=5))
def test_a_plain_table_reads_like_lines_split_at_tabs(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("plain")
    write(folder / "aa-dev.tsv", table([("a", text) for text in texts], ".tsv"))
    labelled = task("text", f"{folder}/{{language}}-{{split}}.tsv", labels=["a", "b"])
    assert labelled.split("aa", "dev") == (texts, [0] * len(texts))


def test_columns_splits_and_the_order_of_classes_are_free(tmp_path):
    write(tmp_path / "aa.devel.csv", "topic,sentence\n1,x\n0,y\n")
    names = {"text": "sentence", "label": "topic", "labels": [1, 0], "splits": {"dev": "devel"}}
    labelled = task("text", f"{tmp_path}/{{language}}.{{split}}.csv", **names)
    assert labelled.split("aa", "dev") == (["x", "y"], [0, 1])


@pytest.fixture
def hub(tmp_path) -> Path:
    """A folder in the hub's format, with class numbers, two configurations and one row without a label."""
    from datasets import ClassLabel, Dataset, Features, Value

    kinds = Features({"text": Value("string"), "label": ClassLabel(names=["zz", "cc"])})
    card = "---\nconfigs:\n"
    for language in ("aa", "bb"):
        card += f"- config_name: topics.{language}\n  data_files:\n"
        for split in ("train", "validation", "test"):
            (tmp_path / language).mkdir(exist_ok=True)
            rows = {"text": [f"{language} {split}", "x"], "label": [1, -1 if split == "test" else 0]}
            Dataset.from_dict(rows, features=kinds).to_parquet(tmp_path / language / f"{split}.parquet")
            card += f"  - split: {split}\n    path: {language}/{split}.parquet\n"
    (tmp_path / "README.md").write_text(card + "---\n")
    return tmp_path


def test_a_data_set_in_the_hubs_format(hub):
    labelled = task("text", hub, config="topics.{language}")
    labelled.check(test=True)
    assert labelled.labels == ["cc", "zz"]  # sorted; the data set's own numbers do not matter
    assert labelled.split("bb", "dev") == (["bb validation", "x"], [0, 1])
    assert len(labelled.paths()) == 7
    with pytest.raises(RequestError, match=r"\(topics.bb, test\) row 2 has no label\. Correct it, or remove the row\."):
        labelled.split("bb", "test")
    with pytest.raises(RequestError, match=r"has no configuration topics.bc. Did you mean topics.bb\?"):
        labelled.split("bc", "dev")
    with pytest.raises(RequestError, match=r"has no column 'body'. It has: text, label\."):
        task("text", hub, config="topics.{language}", text="body").split("aa", "dev")
    with pytest.raises(RequestError, match=r"devel.*validation"):
        task("text", hub, config="topics.{language}", splits={"dev": "devel"}).split("aa", "dev")


def test_check_does_not_ask_the_hub():
    labelled = task("sib200", "Davlan/sib200", "eng_Latn", ("fra_Latn",))
    labelled.check(test=True)
    assert labelled.paths() == []
    with pytest.raises(RequestError, match=r"task.data: Davlan/sib200 \(eng_Latn, validation\): .*(Offline|offline)"):
        labelled.split("eng_Latn", "dev")


# Mistakes.


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("label,text\na,fine\n,bad\n", r"aa.csv row 2 has no label\. Correct it, or remove the row\."),
        ("label,text\na,fine\n  ,bad\n", "row 2 has no label"),
        ("label,text\na,fine\nb\n", "row 2 has no text"),
        ("label,text\na,fine\nc,x\n", r"aa: .*aa.csv row 2: 'c' is not among task.labels: a, b\."),
        ("label,text\na,fine\na,x,y\n", "Expected 2 fields in line 3, saw 3"),
        ("label,text\na,x,y\nb,x\n", "row 1 has more fields than there are columns"),
        ('label,text\na,"never closed\nb,x\n', "EOF inside string"),
        ("label,text\n", "aa.csv holds no examples"),
        ("", "aa.csv is empty. Add examples, or name another file."),
        ("label,body\na,x\n", r"aa.csv has no column 'text'\. It has: label, body\."),
    ],
)
def test_a_bad_file_is_a_one_line_error_with_its_location(tmp_path, content, message):
    write(tmp_path / "dev" / "aa.csv", content)
    with pytest.raises(RequestError, match=message) as raised:
        task("text", f"{tmp_path}/{{split}}/{{language}}.csv", labels=["a", "b"]).split("aa", "dev")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"label": "a", "text": "x"}\n{"label": null, "text": "y"}\n', "row 2 has no label"),
        (b'{"label": "a", "text": "x"}\n{"text": "y"}\n', "row 2 has no label"),
        (b'{"label": 1.5, "text": "x"}\n{"label": NaN, "text": "y"}\n', "row 2 has no label|aa.jsonl: "),
        (b'{"label": {"a": 1}, "text": "x"}\n', "row 1 has dict as its label, which is neither text nor a number"),
        (b'{"label": "a", "text": "x"}\n{"label": "b", "te', "aa.jsonl: "),
        (b'{"label": "a"}\n', r"has no column 'text'\. It has: label\."),
        (b"label\n", "line 1 column 1.*Is it UTF-8 text in that format"),
        (b"", "aa.jsonl"),
    ],
)
def test_a_bad_json_file_is_a_one_line_error_with_its_location(tmp_path, content, message):
    (tmp_path / "dev-aa.jsonl").write_bytes(content)
    with pytest.raises(RequestError, match=message) as raised:
        task("text", f"{tmp_path}/{{split}}-{{language}}.jsonl", labels=["a", "b"]).split("aa", "dev")
    assert "\n" not in str(raised.value)


def test_a_label_may_be_text_or_a_number(tmp_path):
    write(tmp_path / "train-aa.jsonl", '{"label": 1.0, "text": "x"}\n{"label": 2.0, "text": "y"}\n')
    write(tmp_path / "dev-aa.jsonl", '{"label": "2 ", "text": "x"}\n{"label": " 1", "text": "y"}\n')
    data = task("text", f"{tmp_path}/{{split}}-{{language}}.jsonl")
    assert data.labels == ["1", "2"]
    assert data.split("aa", "dev")[1] == [1, 0]


def test_damaged_files(tmp_path):
    write(tmp_path / "aa-dev.tsv.gz", table([("a", "x")] * 99, ".tsv"))
    cut = tmp_path / "bb-dev.tsv.gz"
    cut.write_bytes((tmp_path / "aa-dev.tsv.gz").read_bytes()[:-12])
    (tmp_path / "cc-dev.tsv").write_bytes("label\ttext\na\té\n".encode("latin-1"))
    labelled = task("text", f"{tmp_path}/{{language}}-{{split}}.tsv", labels=["a", "b"])
    assert len(labelled.split("aa", "dev")[0]) == 99
    for language, message in (("bb", "ended before"), ("cc", "can't decode byte 0xe9"), ("dd", "is missing")):
        with pytest.raises(RequestError, match=f"{language}-dev.*{message}"):
            labelled.split(language, "dev")


def sib(folder: Path, language: str, labels: str = "a\nb\n", splits: tuple[str, ...] = ("train", "dev")) -> None:
    write(folder / language / "labels.txt", labels)
    for split in splits:
        write(folder / language / f"{split}.tsv", 'index_id\tcategory\ttext\n1\tb\t"He said ""no"""\n2\ta\tplain\n')


def test_labels_are_checked_across_languages(tmp_path):
    sib(tmp_path, "aa")
    sib(tmp_path, "bb", labels="b\na\n")  # in another order: the source's order counts
    labelled = task("sib200", tmp_path)
    labelled.check(test=False)
    assert labelled.labels == ["a", "b"]
    assert labelled.split("bb", "dev") == (['He said "no"', "plain"], [1, 0])
    sib(tmp_path, "bb", labels="a\nc\n")
    with pytest.raises(
        RequestError, match=r"task.targets: the labels.txt of bb \(a, c\) differs from that of aa \(a, b\)"
    ):
        task("sib200", tmp_path).check(test=False)
    write(tmp_path / "bb" / "dev.tsv", "index_id\tcategory\ttext\n1\tein\tx\n")
    with pytest.raises(RequestError, match=r"bb: .*dev.tsv row 1: 'ein' is not among the labels of aa: a, b\."):
        task("sib200", tmp_path).split("bb", "dev")


def test_check_reports_what_is_missing(tmp_path):
    sib(tmp_path, "aa")
    sib(tmp_path, "bb", splits=("dev",))
    task("sib200", tmp_path).check(test=False)
    for change, options, message in [
        ({"targets": ["cc"]}, {}, "task.targets: cc: .* has no such language. There are: aa, bb."),
        ({"pivots": ["bbb"]}, {}, r"task.pivots: bbb: .* has no such language. Did you mean bb\?"),
        ({"source": "bb", "targets": ["aa"]}, {}, "task.source: .*train.tsv is missing. Add it, or drop bb."),
        ({}, {"target_train": "Who reads it."}, "bb/train.tsv is missing. Who reads it."),
        ({"label": "topic"}, {}, "has no column 'topic'. It has: index_id, category, text."),
    ]:
        with pytest.raises(RequestError, match=message):
            Classification(task("sib200", tmp_path).task.model_copy(update=change)).check(**{"test": False} | options)


def test_one_class_is_no_task(tmp_path):
    write(tmp_path / "aa-train.csv", "label,text\na,x\na,y\n")
    with pytest.raises(RequestError, match=r"task.labels: a: at least two different classes are needed"):
        _ = task("text", f"{tmp_path}/{{language}}-{{split}}.csv").labels


def test_a_task_keeps_its_checksum_when_it_moves_and_loses_it_when_it_changes(tmp_path):
    def of(folder: Path) -> str:
        named = SimpleNamespace(model=None, inputs=Inputs(), task=task("sib200", folder).task)
        return checksums(named)["task.data"]

    for name in ("one", "two"):
        for language in ("aa", "bb", "unused"):
            sib(tmp_path / name, language)
    assert of(tmp_path / "one") == of(tmp_path / "two")
    write(tmp_path / "two" / "unused" / "dev.tsv", "")
    assert of(tmp_path / "one") == of(tmp_path / "two")
    write(tmp_path / "two" / "bb" / "labels.txt", "b\na\n")
    assert of(tmp_path / "one") != of(tmp_path / "two")
