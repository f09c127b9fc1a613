"""The labelled data of a search: texts and class numbers by language and split."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path

from seedwise.errors import MissingFile, RequestError, RequestErrors, collected, nearest
from seedwise.paths import resolved
from seedwise.trainables.inputs.files import read_lines
from seedwise.trainables.request import Task
from seedwise.trainables.tasks import reading
from seedwise.trainables.tasks.layouts import LAYOUTS, Layout, find_files
from seedwise.trainables.tasks.rows import Rows, Texts, rows_of

SPLITS = ("train", "dev", "test")
HUB_SPLITS = {"train": "train", "dev": "validation", "test": "test"}
NO_LABELS = (
    "XTREME leaves the labels out of its test files: use labelled ones, for example those of XNLI-1.0, "
    "of PAWS-X's x-final or of the hub."
)


class Classification:
    """The `task` of a specification: classification of sentences or of sentence pairs.

    Data is read on first use, so test sets stay unread during a search. A row without a label, or with a label that the
    source does not have, is an error and never gets a default class.
    """

    def __init__(self, task: Task):
        self.task, self.layout = task, LAYOUTS[task.name]
        may_be_pairs = ["text", *(name for name, layout in LAYOUTS.items() if layout.second)]
        if task.second and task.name not in may_be_pairs:
            raise RequestError(
                "task.second",
                f"{task.second}: {task.name} has single sentences",
                f"Remove it, or choose {', '.join(may_be_pairs)}.",
            )
        self.files = find_files(task.data, self.layout, task.splits)
        self.languages = {task.source: "task.source"}  # each language with the key that names it
        self.languages |= {language: f"task.{key}" for key in ("targets", "pivots") for language in getattr(task, key)}
        self.notes: list[str] = []  # for users: which rows were left out
        self._rows = cache(self._read)
        self._languages = cache(lambda split: self.files.languages(split))  # cached, as it may read a large file

    @property
    def pairs(self) -> bool:
        """Whether a text is a pair of sentences, not a single sentence."""
        return bool(self.task.second or self.layout.second)

    @property
    def parallel(self) -> bool:
        """Whether the dev sets of the languages are published as translations of each other, row by row."""
        return self.layout.parallel

    @cached_property
    def labels(self) -> list[str]:
        """The classes in the order of their numbers, from the specification, the task or the source's training set."""
        labels = [str(label) for label in self.task.labels or []] or list(self.layout.labels)
        labels = labels or self._listed(self.task.source) or sorted(set(self._rows(self.task.source, "train").labels))
        if len(set(labels)) < max(len(labels), 2):
            raise RequestError(
                "task.labels", f"{', '.join(labels)}: at least two different classes are needed", "Correct the list."
            )
        return labels

    def split(self, language: str, split: str) -> tuple[Texts, list[int]]:
        """Texts (tuples of two for pairs) and class numbers of one split: train, dev or test."""
        rows, numbers = self._rows(language, split), {label: number for number, label in enumerate(self.labels)}
        for row, label in zip(rows.numbers, rows.labels, strict=True):
            if label not in numbers:
                expected = "task.labels" if self.task.labels else f"the labels of {self.task.source}"
                raise reading.data_error(
                    f"{language}: {self._origin(language, split)} row {row}: {label!r} is not among "
                    f"{expected}: {', '.join(self.labels)}",
                    "Correct it.",
                )
        return rows.texts, [numbers[label] for label in rows.labels]

    def name_of(self, split: str) -> str:
        """The name of a split in the data. Two splits with the same name would be the same set."""
        return self.files.name_of(split) if self.files else (HUB_SPLITS | self.task.splits)[split]

    def check(self, *, test: bool, target_train: str = "") -> None:
        """Check that files, columns and languages exist before anything starts. Does not query the hub.

        `test`: whether the test sets of the source and the targets will be read as well. `target_train`: advice for the
        error if a target has no training set; empty if nothing reads the targets' training sets.
        """
        if self.files is not None and (problems := collected(self._problems(test=test, target_train=target_train))):
            raise RequestErrors(problems)

    def _problems(self, *, test: bool, target_train: str) -> Iterator[RequestError]:
        """Yield missing languages and files. Raises at the first unusable file, since other files are usually alike."""
        known, unknown = self._languages("dev"), set()
        for language, key in self.languages.items():
            if language not in known and not self.files.path(language, "train").is_file():
                unknown.add(language)
                yield RequestError(key, f"{language}: {self.task.data} has no such language", nearest(language, known))
        source_labels = self._listed(self.task.source)
        for language, key in self.languages.items():
            if language in unknown:
                continue
            fix = f"Add it, or drop {language}."
            splits = ("train", "dev") if language == self.task.source else ("dev",)
            files = [(split, key, fix) for split in splits]
            if test and key != "task.pivots":
                fix = "The confirmation reads it. Add it, or set replicates.confirm.top: 0."
                files.append(("test", "task.data", fix))
            if target_train and key == "task.targets":
                files.append(("train", "task.data", target_train))
            for split, key_of_file, fix in files:
                try:
                    self._check_file(language, split, key_of_file, fix)
                except MissingFile as error:
                    yield error
            labels = self._listed(language)
            if labels and self.task.source not in unknown and set(labels) != set(source_labels):
                yield RequestError(
                    key,
                    f"the labels.txt of {language} ({', '.join(labels)}) differs from that of {self.task.source} "
                    f"({', '.join(source_labels)})",
                    "Make both files list the same labels.",
                )

    def paths(self) -> list[Path]:
        """The local files that a search may read, for checksums; empty for a hub id."""
        if self.files is None:
            return sorted(path for path in resolved(self.task.data).rglob("*") if path.is_file())
        paths = {self.files.path(language, split) for language in self.languages for split in SPLITS}
        if self.layout.listed:
            paths |= {self._labels_file(language) for language in self.languages}
        return sorted(path for path in paths if path.is_file())

    def _read(self, language: str, split: str) -> Rows:
        """Read the texts and class names of one split."""
        layout, names = self._layout(split), self._columns(split)
        if layout.language:
            names["language"] = layout.language
        if self.files is None:
            columns = reading.read_hub(self.task.data, self._config(language), self.name_of(split), [*names.values()])
        else:
            self._check_file(language, split, "task.data", "Add it.")
            path = self.files.path(language, split)
            columns = reading.read_file(path, [*names.values()], columns=list(layout.columns), quoted=layout.quoted)
        origin = self._origin(language, split)
        rows = rows_of(dict(zip(names, columns, strict=True)), replace(layout, label=names["label"]), language, origin)
        if rows.blank.count:
            self.notes.append(f"task.data: {origin}: {rows.blank} left out")
        return rows

    def _check_file(self, language: str, split: str, key: str, fix: str) -> None:
        """Check that a file exists and has the columns and the language."""
        path, layout = self.files.path(language, split), self._layout(split)
        if not path.is_file():
            raise MissingFile(key, f"{path} is missing", fix, self.task.data)
        first = reading.first_row(path, quoted=layout.quoted)
        has_header = reading.is_json(path) or not layout.columns
        columns = first if has_header else layout.columns
        for name in self._columns(split).values():
            if columns and name not in columns:
                raise reading.missing_column(name, path, columns)
        if layout.language and language not in self._languages(split):
            raise RequestError(key, f"{language}: {path} has no such language", fix)
        if self.pairs and not has_header and len(first) != len(columns):
            raise reading.data_error(
                f"{path} has {len(first)} columns in its first line, not {', '.join(columns)}",
                NO_LABELS if len(first) < len(columns) else "Correct it.",
            )

    def _layout(self, split: str) -> Layout:
        """The layout of a split; hub data sets have the columns of the task's first layout."""
        return self.files.layout_of(split) if self.files else self.layout

    def _columns(self, split: str) -> dict[str, str]:
        """The names of the columns by role: text, label and, for pairs, second."""
        layout = self._layout(split)
        names = {key: getattr(self.task, key) or getattr(layout, key) for key in ("text", "second", "label")}
        return {key: name for key, name in names.items() if name}

    def _listed(self, language: str) -> list[str]:
        """The classes in labels.txt, one per line; [] if the task has no labels.txt."""
        if self.files is None or not self.layout.listed or not self._labels_file(language).is_file():
            return []
        lines = read_lines(self._labels_file(language), "task.data")
        return [line.strip() for line in lines if line.strip()]

    def _labels_file(self, language: str) -> Path:
        return self.files.path(language, "train").with_name("labels.txt")

    def _config(self, language: str) -> str:
        """The configuration of a hub data set that holds a language's data."""
        return self.task.config.replace("{language}", language)

    def _origin(self, language: str, split: str) -> str:
        if self.files is None:
            return reading.hub_split(self.task.data, self._config(language), self.name_of(split))
        return str(self.files.path(language, split))
