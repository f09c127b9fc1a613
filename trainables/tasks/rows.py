"""Rows of labelled data as they are checked: every text is there, every label is one, and what it means."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from seedwise.errors import RequestError
from seedwise.trainables.inputs.reading import Noted
from seedwise.trainables.tasks.layouts import Layout

Texts = list[str] | list[tuple[str, str]]  # sentences, or pairs of them


class Rows(NamedTuple):
    """Texts and class names of one split, with the numbers of their rows where they stand."""

    texts: Texts
    labels: list[str]
    numbers: Sequence[int]
    blank: Noted  # rows that were left out, where the form has such


def rows_of(columns: dict[str, list[Any]], form: Layout, language: str, where: str) -> Rows:
    """The rows of a language out of columns by kind: text, label, and where there are such, second and language.

    A row without a text or a label is an error; of a form that is published with rows without a text, these are left
    out.
    """
    numbers: Sequence[int] = range(1, len(columns["text"]) + 1)
    if "language" in columns:
        numbers = [row for row, whose in zip(numbers, columns["language"], strict=True) if whose == language]
    blank = Noted("blank row", "row")
    if form.blanks:
        kinds = [kind for kind in ("text", "second") if kind in columns]
        written = {row for row in numbers if all(str(columns[kind][row - 1] or "").strip() for kind in kinds)}
        for row in (row for row in numbers if row not in written):
            blank.add(row)
        numbers = sorted(written)
    if not numbers:
        raise RequestError("task.data", f"{where} holds no examples", f"Add some, or drop {language}.")

    def filled(kind: str, what: str) -> list[str]:
        return [_filled(columns[kind][row - 1], what, where, row) for row in numbers]

    texts: Texts = filled("text", "text")
    if "second" in columns:
        texts = list(zip(texts, filled("second", "second text"), strict=True))
    labels = filled("label", "label")
    return Rows(texts, _classes(labels, numbers, form, where) if form.classes else labels, numbers, blank)


def _classes(labels: list[str], numbers: Sequence[int], form: Layout, where: str) -> list[str]:
    """What the labels mean where they are not classes themselves: stars are three classes."""
    labels = [label.removesuffix(".0") for label in labels]
    for row, label in zip(numbers, labels, strict=True):
        if label not in form.classes:
            raise RequestError(
                "task.data",
                f"{where} row {row}: {form.label} is {label!r}, not one of {', '.join(form.classes)}",
                "Correct it.",
            )
    return [form.classes[label] for label in labels]


def _filled(value: object, what: str, where: str, row: int) -> str:
    """A text or a label as text; without one a row says nothing. Numbers of labels lose a decimal part of zero."""
    missing = value is None or (isinstance(value, float) and math.isnan(value)) or not str(value).strip()
    if missing or not isinstance(value, str | int | float):
        problem = (
            f"has no {what}" if missing else f"has {type(value).__name__} as its {what}, which is no text or number"
        )
        raise RequestError("task.data", f"{where} row {row} {problem}", "Correct it, or remove the row.")
    if what == "label":
        return str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()
    return str(value)
