"""The metrics of classification, defined once for all methods."""

import re

import numpy as np

METRICS = ("macro_f1", "accuracy")  # the metrics that may select


def macro_f1(truth: np.ndarray, predicted: np.ndarray, classes: int) -> float:
    """F1 averaged over all `classes`, computed on the whole set at once; a class that never occurs counts as 0."""
    confusion = np.bincount(truth * classes + predicted, minlength=classes * classes).reshape(classes, classes)
    hits, counts = np.diag(confusion), confusion.sum(0) + confusion.sum(1)
    return float(np.mean(np.where(counts > 0, 2 * hits / np.maximum(counts, 1), 0.0)))


def accuracy(truth: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.mean(truth == predicted))


def scores(truth: np.ndarray, predicted: np.ndarray, labels: list[str]) -> dict[str, float]:
    """All metrics of one set over the fixed `labels`, including labels that do not occur.

    `predicted_classes` is the number of classes among the predictions: 1 means a collapsed classifier. `share_of_LABEL`
    is the share of the set that is predicted as LABEL.
    """
    shares = np.bincount(predicted, minlength=len(labels)) / len(predicted)
    return {
        "macro_f1": macro_f1(truth, predicted, len(labels)),
        "accuracy": accuracy(truth, predicted),
        "predicted_classes": float(np.count_nonzero(shares)),
        **{f"share_of_{name}": float(share) for name, share in zip(metric_names(labels), shares, strict=True)},
    }


def metric_names(labels: list[str]) -> list[str]:
    """Labels as parts of metric names: characters other than letters, digits, dots and hyphens become underscores.

    If two labels become equal, the number of its class is appended to every label.
    """
    safe = [re.sub(r"[^\w.-]", "_", label) for label in labels]
    return safe if len(set(safe)) == len(safe) else [f"{name}_{number}" for number, name in enumerate(safe)]
