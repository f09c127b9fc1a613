"""The labelled data of a search: texts and class numbers by language and split, with every label accounted for."""

import math
from functools import cached_property
from pathlib import Path

from search.errors import RequestError
from spaces.dimension import nearest
from trainables.inputs.paths import read_text
from trainables.tasks.layouts import LAYOUTS, find_files
from trainables.tasks.reading import columns_of, kind, missing_column, place, read_file, read_hub

SPLITS = ("train", "dev", "test")
HUB_SPLITS = {"train": "train", "dev": "validation", "test": "test"}


class Classification:
    """Single-sentence classification by the `task` of a resolved specification.

    Nothing is read before it is asked for, so that test sets stay closed during a search. A row without a label, or
    with one that the source does not have, is an error and never a default class.
    """

    def __init__(self, task: dict):
        self.task, self.layout = task, LAYOUTS[task["name"]]
        self.source, self.data = task["source"], task["data"]
        self.text = task.get("text") or self.layout.text
        self.label = task.get("label") or self.layout.label
        self.splits = task.get("splits") or {}
        self.files = find_files(self.data, self.layout, self.splits)
        self.languages = {self.source: "task.source"}  # and the keys that name them
        self.languages |= {language: f"task.{key}" for key in ("targets", "pivots") for language in task.get(key) or []}
        self._read: dict[tuple[str, str], tuple[list[str], list[str]]] = {}

    @cached_property
    def labels(self) -> list[str]:
        """The classes, in the order of their numbers: given, published with the task, or those of source training."""
        given = [str(label) for label in self.task.get("labels") or []]
        found = given or list(self.layout.labels) or self._listed(self.source)
        found = found or sorted(set(self._rows(self.source, "train")[1]))
        if len(set(found)) < max(len(found), 2):
            raise RequestError(
                f"task.labels: {', '.join(found)}: these are not two or more different classes. Correct the list."
            )
        return found

    def split(self, language: str, split: str) -> tuple[list[str], list[int]]:
        """Texts and class numbers of one split: train, dev or test."""
        texts, names = self._rows(language, split)
        number = {label: index for index, label in enumerate(self.labels)}
        for row, name in enumerate(names, start=1):
            if name not in number:
                whose = "task.labels" if self.task.get("labels") else f"those of {self.source}"
                raise RequestError(
                    f"task.data: {language}: {self._where(language, split)} row {row}: {name!r} is not one of the "
                    f"labels, {whose}: {', '.join(self.labels)}. Correct it."
                )
        return texts, [number[name] for name in names]

    def check(self, *, test: bool, target_train: bool = False) -> None:
        """Whether the files, columns and languages are there, before anything starts. The hub is not asked.

        `test`: whether the test sets of the source and the targets will be read too. `target_train`: whether the
        training sets of the targets will be, by a baseline that uses target labels.
        """
        if self.files is None:
            return
        known, ours = self.files.languages("dev"), self._listed(self.source)
        for language, key in self.languages.items():
            if language not in known and not self.files.path(language, "train").is_file():
                raise RequestError(f"{key}: {language}: {self.data} has no such language.{nearest(language, known)}")
            for split in ("train", "dev") if language == self.source else ("dev",):
                self._check_file(language, split, key, f"Add it, or drop {language}.")
            if test and key != "task.pivots":
                way_out = "The confirmation reads it. Add it, or set replicates.confirm.top: 0."
                self._check_file(language, "test", "task.data", way_out)
            if target_train and key == "task.targets":
                way_out = "The baseline lr is trained on it. Add it, or drop lr from baselines."
                self._check_file(language, "train", "task.data", way_out)
            theirs = self._listed(language)
            if theirs and set(theirs) != set(ours):
                raise RequestError(
                    f"{key}: the labels.txt of {language} ({', '.join(theirs)}) is not that of {self.source} "
                    f"({', '.join(ours)}). Make them equal."
                )

    def paths(self) -> list[Path]:
        """The local files that may be read, for checksums; none of a hub id."""
        if self.files is None:
            folder = Path(self.data).expanduser()
            return sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
        found = [self.files.path(language, split) for language in self.languages for split in SPLITS]
        if self.layout.listed:
            found += [self._list_of(language) for language in self.languages]
        return sorted({path for path in found if path.is_file()})

    def _rows(self, language: str, split: str) -> tuple[list[str], list[str]]:
        """Texts and class names as they stand in the data. A row without a text or a label is an error."""
        if (language, split) not in self._read:
            where, wanted = self._where(language, split), [self.text, self.label]
            if self.files is None:
                found = read_hub(self.data, self._config(language), self._hub_split(split), wanted)
            else:
                self._check_file(language, split, "task.data", "Add it.")
                path, columns = self.files.path(language, split), list(self.layout.columns)
                found = read_file(path, wanted, columns=columns, quoted=self._quoted(path))
            if not found[0]:
                raise RequestError(f"task.data: {where} holds no examples. Add some, or drop {language}.")
            texts = [_filled(value, "text", where, row) for row, value in enumerate(found[0], start=1)]
            labels = [_filled(value, "label", where, row) for row, value in enumerate(found[1], start=1)]
            self._read[language, split] = texts, self._classes(labels, where)
        return self._read[language, split]

    def _classes(self, labels: list[str], where: str) -> list[str]:
        """What the labels mean: stars are three classes, other labels are classes themselves."""
        meaning = self.layout.classes
        if not meaning:
            return labels
        labels = [label.removesuffix(".0") for label in labels]
        for row, label in enumerate(labels, start=1):
            if label not in meaning:
                raise RequestError(
                    f"task.data: {where} row {row}: {self.label} is {label!r}, "
                    f"not one of {', '.join(meaning)}. Correct it."
                )
        return [meaning[label] for label in labels]

    def _check_file(self, language: str, split: str, key: str, way_out: str) -> None:
        path = self.files.path(language, split)
        if not path.is_file():
            raise RequestError(f"{key}: {path} is missing. {way_out}")
        columns = list(self.layout.columns) or columns_of(path, quoted=self._quoted(path))
        for name in (self.text, self.label):
            if columns and name not in columns:
                raise missing_column(name, path, columns)

    def _listed(self, language: str) -> list[str]:
        """The classes of labels.txt, one a line; none where the task has no such file."""
        if self.files is None or not self.layout.listed or not self._list_of(language).is_file():
            return []
        return [line.strip() for line in read_text(self._list_of(language), "task.data").splitlines() if line.strip()]

    def _list_of(self, language: str) -> Path:
        return self.files.path(language, "train").with_name("labels.txt")

    def _quoted(self, path: Path) -> bool:
        return self.layout.quoted or kind(path) == ".csv"

    def _config(self, language: str) -> str:
        """The configuration of a hub data set that holds a language."""
        return (self.task.get("config") or "{language}").replace("{language}", language)

    def _hub_split(self, split: str) -> str:
        return (HUB_SPLITS | self.splits)[split]

    def _where(self, language: str, split: str) -> str:
        if self.files is None:
            return place(self.data, self._config(language), self._hub_split(split))
        return str(self.files.path(language, split))


def _filled(value: object, what: str, where: str, row: int) -> str:
    """A text or a label as text; without one a row says nothing. Numbers of labels lose a decimal part of zero."""
    missing = value is None or (isinstance(value, float) and math.isnan(value)) or not str(value).strip()
    if missing or not isinstance(value, str | int | float):
        problem = (
            f"has no {what}" if missing else f"has {type(value).__name__} as its {what}, which is no text or number"
        )
        raise RequestError(f"task.data: {where} row {row} {problem}. Correct it, or remove the row.")
    if what == "label":
        return str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()
    return str(value)
