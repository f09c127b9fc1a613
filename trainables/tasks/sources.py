"""The labelled data of a search: texts and class numbers by language and split, with every label accounted for."""

from dataclasses import replace
from functools import cached_property
from pathlib import Path

from seedwise.errors import NotHere, RequestError
from seedwise.paths import resolved
from seedwise.suggest import nearest
from seedwise.trainables.inputs.paths import read_text
from seedwise.trainables.request import Task
from seedwise.trainables.tasks.layouts import LAYOUTS, Layout, find_files
from seedwise.trainables.tasks.reading import JSON, columns_of, kind, missing_column, place, read_file, read_hub
from seedwise.trainables.tasks.rows import Rows, Texts, rows_of

SPLITS = ("train", "dev", "test")
HUB_SPLITS = {"train": "train", "dev": "validation", "test": "test"}


class Classification:
    """Classification of sentences, or of pairs of them, by the `task` of a specification.

    Nothing is read before it is asked for, so that test sets stay closed during a search. A row without a label, or
    with one that the source does not have, is an error and never a default class.
    """

    def __init__(self, task: Task):
        self.task, self.layout = task, LAYOUTS[task.name]
        self.source, self.data = task.source, task.data
        may_be_pairs = ["text", *(name for name, layout in LAYOUTS.items() if layout.second)]
        if task.second and task.name not in may_be_pairs:
            raise RequestError(
                "task.second",
                f"{task.second}: {task.name} has single sentences",
                f"Remove it, or choose {', '.join(may_be_pairs)}.",
            )
        self.splits = task.splits
        self.files = find_files(self.data, self.layout, self.splits)
        self.languages = {self.source: "task.source"}  # and the keys that name them
        self.languages |= {language: f"task.{key}" for key in ("targets", "pivots") for language in getattr(task, key)}
        self._read: dict[tuple[str, str], Rows] = {}
        self.notes: list[str] = []  # what was left out of the files, for people
        self._known: dict[str, list[str]] = {}  # the languages by split

    @property
    def pairs(self) -> bool:
        """Whether a text is a pair of sentences, not a single one."""
        return bool(self.task.second or self.layout.second)

    @property
    def parallel(self) -> bool:
        """Whether the dev sets of the languages are published as translations of each other, row by row."""
        return self.layout.parallel

    @cached_property
    def labels(self) -> list[str]:
        """The classes, in the order of their numbers: given, published with the task, or those of source training."""
        given = [str(label) for label in self.task.labels or []]
        found = given or list(self.layout.labels) or self._listed(self.source)
        found = found or sorted(set(self._rows(self.source, "train").labels))
        if len(set(found)) < max(len(found), 2):
            raise RequestError(
                "task.labels", f"{', '.join(found)}: these are not two or more different classes", "Correct the list."
            )
        return found

    def split(self, language: str, split: str) -> tuple[Texts, list[int]]:
        """Texts and class numbers of one split: train, dev or test. Where these are pairs, texts are tuples of two."""
        texts, names, numbers, _ = self._rows(language, split)
        number = {label: index for index, label in enumerate(self.labels)}
        for row, name in zip(numbers, names, strict=True):
            if name not in number:
                whose = "task.labels" if self.task.labels else f"those of {self.source}"
                raise RequestError(
                    "task.data",
                    f"{language}: {self._where(language, split)} row {row}: {name!r} is not one of the labels, "
                    f"{whose}: {', '.join(self.labels)}",
                    "Correct it.",
                )
        return texts, [number[name] for name in names]

    def name_of(self, split: str) -> str:
        """What a split is called in the data. Two splits of one name would be the same set."""
        return self._hub_split(split) if self.files is None else self.files.name_of(split)

    def check(self, *, test: bool, target_train: str = "") -> None:
        """Whether the files, columns and languages are there, before anything starts. The hub is not asked.

        `test`: whether the test sets of the source and the targets will be read too. `target_train`: who will read the
        training sets of the targets, and what to do where there are none; empty: nobody does.
        """
        if self.files is None:
            return
        known, ours = self._languages("dev"), self._listed(self.source)
        for language, key in self.languages.items():
            if language not in known and not self.files.path(language, "train").is_file():
                raise RequestError(key, f"{language}: {self.data} has no such language", nearest(language, known))
            for split in ("train", "dev") if language == self.source else ("dev",):
                self._check_file(language, split, key, f"Add it, or drop {language}.")
            if test and key != "task.pivots":
                way_out = "The confirmation reads it. Add it, or set replicates.confirm.top: 0."
                self._check_file(language, "test", "task.data", way_out)
            if target_train and key == "task.targets":
                self._check_file(language, "train", "task.data", target_train)
            theirs = self._listed(language)
            if theirs and set(theirs) != set(ours):
                raise RequestError(
                    key,
                    f"the labels.txt of {language} ({', '.join(theirs)}) is not that of {self.source} "
                    f"({', '.join(ours)})",
                    "Make them equal.",
                )

    def paths(self) -> list[Path]:
        """The local files that may be read, for checksums; none of a hub id."""
        if self.files is None:
            folder = resolved(self.data)
            return sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
        found = [self.files.path(language, split) for language in self.languages for split in SPLITS]
        if self.layout.listed:
            found += [self._list_of(language) for language in self.languages]
        return sorted({path for path in found if path.is_file()})

    def _rows(self, language: str, split: str) -> Rows:
        """Texts and class names as they stand in the data. A row without a text or a label is an error."""
        if (language, split) not in self._read:
            form = self._form(split)
            wanted = self._columns(split) | ({"language": form.language} if form.language else {})
            if self.files is None:
                found = read_hub(self.data, self._config(language), self._hub_split(split), [*wanted.values()])
            else:
                self._check_file(language, split, "task.data", "Add it.")
                path, columns = self.files.path(language, split), list(form.columns)
                found = read_file(path, [*wanted.values()], columns=columns, quoted=self._quoted(path, form))
            found = dict(zip(wanted, found, strict=True))
            form = replace(form, label=wanted["label"])
            self._read[language, split] = rows = rows_of(found, form, language, self._where(language, split))
            if rows.blank.count:
                self.notes.append(f"task.data: {self._where(language, split)}: {rows.blank} left out")
        return self._read[language, split]

    def _check_file(self, language: str, split: str, key: str, way_out: str) -> None:
        path, form = self.files.path(language, split), self._form(split)
        if not path.is_file():
            raise NotHere(key, f"{path} is missing", way_out, self.data)
        given = [] if kind(path) in JSON else list(form.columns)
        columns = given or columns_of(path, quoted=self._quoted(path, form))
        for name in self._columns(split).values():
            if columns and name not in columns:
                raise missing_column(name, path, columns)
        if form.language and language not in self._languages(split):
            raise RequestError(key, f"{language}: {path} has no such language", way_out)
        if self.pairs and given:
            width = len(columns_of(path, quoted=self._quoted(path, form), header=False))
            if width != len(columns):
                no_labels = (
                    "XTREME leaves the labels out of its test files: use labelled ones, for example those of XNLI-1.0, "
                    "of PAWS-X's x-final or of the hub."
                )
                raise RequestError(
                    "task.data",
                    f"{path} has {width} columns in its first line, not {', '.join(columns)}",
                    no_labels if width < len(columns) else "Correct it.",
                )

    def _form(self, split: str) -> Layout:
        """How a split is written; a data set of the hub has the columns of the task's first form."""
        return self.files.form(split) if self.files else self.layout

    def _columns(self, split: str) -> dict[str, str]:
        """What the columns are called: text and label, and second of pairs."""
        names = {key: getattr(self.task, key) or getattr(self._form(split), key) for key in ("text", "second", "label")}
        return {key: name for key, name in names.items() if name}

    def _languages(self, split: str) -> list[str]:
        """The languages that have this split; found once, as it may mean to read a large file."""
        if split not in self._known:
            self._known[split] = self.files.languages(split)
        return self._known[split]

    def _listed(self, language: str) -> list[str]:
        """The classes of labels.txt, one a line; none where the task has no such file."""
        if self.files is None or not self.layout.listed or not self._list_of(language).is_file():
            return []
        return [line.strip() for line in read_text(self._list_of(language), "task.data").splitlines() if line.strip()]

    def _list_of(self, language: str) -> Path:
        return self.files.path(language, "train").with_name("labels.txt")

    def _quoted(self, path: Path, form: Layout) -> bool:
        return form.quoted or kind(path) == ".csv"

    def _config(self, language: str) -> str:
        """The configuration of a hub data set that holds a language."""
        return self.task.config.replace("{language}", language)

    def _hub_split(self, split: str) -> str:
        return (HUB_SPLITS | self.splits)[split]

    def _where(self, language: str, split: str) -> str:
        if self.files is None:
            return place(self.data, self._config(language), self._hub_split(split))
        return str(self.files.path(language, split))
