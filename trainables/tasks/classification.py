"""Single-sentence classification: SIB-200's published files, and the metrics, defined once for all methods."""

import csv
import io
from pathlib import Path

import numpy as np

from search.errors import RequestError
from trainables.inputs.paths import read_text


def read_labels(folder: Path, language: str) -> list[str]:
    """The label set, from labels.txt of a language's folder: its order gives the class numbers."""
    path = folder / language / "labels.txt"
    if not path.is_file():
        raise RequestError(f"task.data: {path} is missing. It lists the classes, one a line.")
    return read_text(path, "task.data").strip("\n").split("\n")


def read_split(folder: Path, language: str, split: str, labels: list[str]) -> tuple[list[str], list[int]]:
    """Texts and class numbers of one split. A row without a known label is an error, never a default class."""
    path = folder / language / f"{split}.tsv"
    texts, classes = [], []
    table = csv.DictReader(io.StringIO(read_text(path, "task.data"), newline=""), delimiter="\t")
    for row in table:
        if row.get("category") not in labels or row.get("text") is None:
            raise RequestError(
                f"task.data: {path} line {table.line_num}: {row.get('category')!r} is not in labels.txt. "
                "Correct the label, or add it there."
            )
        texts.append(row["text"])
        classes.append(labels.index(row["category"]))
    if not texts:
        raise RequestError(f"task.data: {path} holds no examples.")
    return texts, classes


def macro_f1(truth: np.ndarray, predicted: np.ndarray, classes: int) -> float:
    """F1 averaged over all `classes`, computed over the whole set at once; a class never seen counts 0."""
    confusion = np.bincount(truth * classes + predicted, minlength=classes * classes).reshape(classes, classes)
    hits, both = np.diag(confusion), confusion.sum(0) + confusion.sum(1)
    return float(np.mean(np.where(both > 0, 2 * hits / np.maximum(both, 1), 0.0)))


def accuracy(truth: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.mean(truth == predicted))


def scores(truth: np.ndarray, predicted: np.ndarray, classes: int) -> dict[str, float]:
    """All metrics of one set, and how many classes were predicted at all: 1 is a collapsed classifier."""
    return {
        "macro_f1": macro_f1(truth, predicted, classes),
        "accuracy": accuracy(truth, predicted),
        "predicted_classes": float(len(np.unique(predicted))),
    }
