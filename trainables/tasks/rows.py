"""Checks rows of labelled data: no text or label may be missing, and labels are replaced by their classes."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from seedwise.trainables.inputs.files import Skipped
from seedwise.trainables.tasks.layouts import Layout
from seedwise.trainables.tasks.reading import data_error

Texts = list[str] | list[tuple[str, str]]  # sentences, or pairs of them


class Rows(NamedTuple):
    """Texts and class names of one split, with their row numbers in the file."""

    texts: Texts
    labels: list[str]
    numbers: Sequence[int]
    blank: Skipped  # rows that were left out, if the layout allows rows without a text


def rows_of(columns: dict[str, list[Any]], layout: Layout, language: str, origin: str) -> Rows:
    """The rows of a language from columns by role: text, label and, if there are such columns, second and language.

    A missing text or label is an error; rows without a text are left out if the layout is published with such rows.
    """
    numbers: Sequence[int] = range(1, len(columns["text"]) + 1)
    if "language" in columns:
        numbers = [row for row, value in zip(numbers, columns["language"], strict=True) if value == language]
    blank = Skipped("blank row", "row")
    if layout.blanks:
        texts = [columns[role] for role in ("text", "second") if role in columns]
        kept = [row for row in numbers if all(str(column[row - 1] or "").strip() for column in texts)]
        for row in sorted(set(numbers) - set(kept)):
            blank.add(row)
        numbers = kept
    if not numbers:
        raise data_error(f"{origin} holds no examples", f"Add some, or drop {language}.")

    def filled(role: str, name: str) -> list[str]:
        return [_filled(columns[role][row - 1], name, origin, row) for row in numbers]

    texts: Texts = filled("text", "text")
    if "second" in columns:
        texts = list(zip(texts, filled("second", "second text"), strict=True))
    labels = filled("label", "label")
    return Rows(texts, _classes(labels, numbers, layout, origin) if layout.classes else labels, numbers, blank)


def _classes(labels: list[str], numbers: Sequence[int], layout: Layout, origin: str) -> list[str]:
    """Replace labels by classes, for example five numbers of stars by three classes."""
    labels = [label.removesuffix(".0") for label in labels]
    for row, label in zip(numbers, labels, strict=True):
        if label not in layout.classes:
            raise data_error(
                f"{origin} row {row}: {layout.label} is {label!r}, not one of {', '.join(layout.classes)}",
                "Correct it.",
            )
    return [layout.classes[label] for label in labels]


def _filled(value: object, name: str, origin: str, row: int) -> str:
    """A text or a label as a string; an error if it is missing. A numeric label loses its decimal part .0."""
    missing = value is None or (isinstance(value, float) and math.isnan(value)) or not str(value).strip()
    if missing or not isinstance(value, str | int | float):
        wrong = f"{type(value).__name__} as its {name}, which is neither text nor a number"
        raise data_error(
            f"{origin} row {row} has {f'no {name}' if missing else wrong}", "Correct it, or remove the row."
        )
    if name == "label":
        return str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()
    return str(value)
