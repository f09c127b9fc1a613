"""The published layout of each task: its files, columns and classes."""

import glob
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from seedwise.paths import resolved
from seedwise.trainables.inputs.files import locate
from seedwise.trainables.tasks.reading import data_error, read_file


@dataclass(frozen=True)
class Layout:
    """A published layout of a task. A specification may name other columns, classes and splits."""

    files: tuple[str, ...] = ()  # alternative patterns below task.data; the first that matches a file is used
    text: str = "text"
    second: str = ""  # the column of the second sentence; "" for single sentences
    label: str = "label"
    language: str = ""  # the column with the language of a row, if one file holds all languages
    columns: tuple[str, ...] = ()  # the columns of files without a header
    quoted: bool = False  # whether tab-separated files use quotes as CSV does; CSV files always do
    labels: tuple[str, ...] = ()  # the classes; (): read from labels.txt or from the training set
    listed: bool = False  # labels.txt beside the files lists the classes
    classes: dict[str, str] = field(default_factory=dict)  # from label to class, if labels are not the classes
    splits: dict[str, str] = field(default_factory=dict)  # published names of splits, if they differ
    blanks: bool = False  # published files have rows without a text, which are left out; otherwise they are an error
    parallel: bool = False  # the dev sets of the languages are translations of each other, row by row
    train: "Layout | None" = None  # the layout of the training files, if it differs; any of its `files` is used
    others: tuple["Layout", ...] = ()  # alternatives; `labels`, `listed` and `parallel` come from the first layout


NLI = ("entailment", "neutral", "contradiction")
_XNLI_1 = Layout(  # the folder with both unpacked archives, XNLI-1.0 and XNLI-MT-1.0
    ("XNLI-1.0/xnli.{split}.tsv",),
    text="sentence1",
    second="sentence2",
    label="gold_label",
    language="language",
    train=Layout(
        ("XNLI-MT-1.0/multinli/multinli.{split}.{language}.tsv",),
        text="premise",
        second="hypo",
        classes={name: name for name in NLI} | {"contradictory": "contradiction"},
    ),
)


def _pawsx(folder: str) -> Layout:
    """PAWS-X as published, with the languages below `folder`; only the English training set is not translated."""
    names = {"text": "sentence1", "second": "sentence2"}
    train = Layout(
        (f"{folder}{{language}}/{{split}}.tsv", f"{folder}{{language}}/translated_{{split}}.tsv"), **names, blanks=True
    )
    return Layout(train.files[:1], **names, splits={"dev": "dev_2k", "test": "test_2k"}, train=train)


LAYOUTS = {
    "sib200": Layout(("{language}/{split}.tsv",), label="category", quoted=True, listed=True, parallel=True),
    "taxi1500": Layout(
        ("{language}_{split}.tsv",),
        label="class",
        columns=("verse_id", "class", "text"),
        labels=("Recommendation", "Faith", "Description", "Sin", "Grace", "Violence"),
    ),
    "amazon": Layout(
        ("json/{split}/dataset_{language}_{split}.json", "{split}/dataset_{language}_{split}.json"),
        text="review_body",
        label="stars",
        labels=("negative", "neutral", "positive"),
        classes={"1": "negative", "2": "negative", "3": "neutral", "4": "positive", "5": "positive"},
    ),
    # For pairs, the first layout is that of XTREME's scripts, which quote as CSV does. Hub data sets use its columns.
    "xnli": Layout(
        ("{split}-{language}.tsv",),
        text="premise",
        second="hypothesis",
        columns=("premise", "hypothesis", "label"),
        quoted=True,
        labels=NLI,
        parallel=True,
        others=(_XNLI_1,),
    ),
    "pawsx": Layout(
        ("{split}-{language}.tsv",),
        text="sentence1",
        second="sentence2",
        columns=("sentence1", "sentence2", "label"),
        quoted=True,
        labels=("0", "1"),
        parallel=True,
        others=(_pawsx("x-final/"), _pawsx("")),
    ),
    "text": Layout(),
}


@dataclass(frozen=True)
class Files:
    """Files by language and split: patterns with {language} and {split} below a folder."""

    root: Path
    layout: Layout
    splits: dict[str, str]  # the specification's names of splits

    def layout_of(self, split: str) -> Layout:
        return self.layout.train if self.layout.train and split == "train" else self.layout

    def path(self, language: str, split: str) -> Path:
        """The file of a split, compressed or not; it need not exist."""
        names = [pattern.replace("{language}", language) for pattern in self._patterns(split)]
        paths = [self.root / f"{name}{suffix}" for name in names for suffix in (".gz", "")]
        return next(filter(Path.is_file, paths), self.root / names[0])

    def languages(self, split: str) -> list[str]:
        """The languages that have a file of this split, or rows in it."""
        layout, path = self.layout_of(split), self.path("", split)
        if layout.language:
            wanted = [layout.language]
            return sorted({*read_file(path, wanted, columns=[], quoted=layout.quoted)[0]}) if path.is_file() else []
        return sorted({language for pattern in self._patterns(split) for language in self._matches(pattern)})

    def name_of(self, split: str) -> str:
        """The name of a split in file names."""
        return (self.layout_of(split).splits | self.splits).get(split, split)

    def _patterns(self, split: str) -> list[str]:
        return [pattern.replace("{split}", self.name_of(split)) for pattern in self.layout_of(split).files]

    def _matches(self, pattern: str) -> set[str]:
        """The values of {language} in the names of existing files."""
        before, *after = pattern.split("{language}")
        # The first {language} is captured; any further {language} must repeat it.
        shape = re.escape(before) + "([^/]+)" + r"\1".join(["", *map(re.escape, after)])[2:] + r"(?:\.gz)?"
        names = glob.glob("*".join(map(glob.escape, [before, *after])) + "*", root_dir=self.root)
        return {match[1] for name in names if (match := re.fullmatch(shape, Path(name).as_posix()))}


def find_files(data: str, layout: Layout, splits: dict[str, str]) -> Files | None:
    """The files of a task; None if `data` is a hub data set or a folder in the hub's format."""
    if "{" in data:
        if "{language}" not in data or "{split}" not in data:
            raise data_error(
                f"{data}: a pattern needs both {{language}} and {{split}}", "Write it like data/{language}/{split}.csv."
            )
        folder, slash, _ = data.partition("{")[0].rpartition("/")
        layout = replace(layout, files=(data[len(folder + slash) :],))
        return Files(locate(folder or slash or ".", "task.data", folder=True), layout, splits)
    if _is_hub_id(data):
        return None
    folder = locate(data, "task.data", folder=True)
    layouts = [replace(each, files=(pattern,)) for each in (layout, *layout.others) for pattern in each.files]
    for each in layouts:
        files = Files(folder, each, splits)
        if files.languages("train") or files.languages("dev"):
            return files
    if not (folder / "README.md").is_file():
        published = f"no {' or '.join(each.files[0] for each in layouts)}, and " if layouts else ""
        raise data_error(
            f"{data}: it has {published}no README.md, which hub data sets have",
            "Name another folder, or write a pattern, for example data/{language}/{split}.csv.",
        )
    return None


def _is_hub_id(data: str) -> bool:
    """Whether `data` is OWNER/NAME and there is no local folder OWNER."""
    owner, slash, _ = data.partition("/")
    return bool(slash) and re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", data) is not None and not resolved(owner).is_dir()
