import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from seedwise.trainables.tasks.classification import metric_names, scores

LABELS = ["a", "b", "c", "d", "e"]
PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=60)


@given(PAIRS)
def test_metrics_match_scikit_learn(pairs):
    truth, predicted = (np.array(side) for side in zip(*pairs, strict=True))
    metrics = scores(truth, predicted, LABELS)
    expected = f1_score(truth, predicted, average="macro", labels=range(5), zero_division=0)
    assert metrics["macro_f1"] == pytest.approx(expected)
    assert metrics["accuracy"] == pytest.approx(accuracy_score(truth, predicted))
    assert metrics["predicted_classes"] == len(set(predicted.tolist()))
    for number, label in enumerate(LABELS):
        assert metrics[f"share_of_{label}"] == pytest.approx(predicted.tolist().count(number) / len(pairs))


def test_the_constant_classifier_on_taxi1500_scores_what_the_class_counts_imply():
    truth = np.repeat(np.arange(6), [29, 26, 19, 16, 14, 7])
    metrics = scores(truth, np.zeros_like(truth), list("abcdef"))
    assert metrics["macro_f1"] == pytest.approx(0.069, abs=5e-4)
    assert metrics["predicted_classes"] == 1
    assert (metrics["share_of_a"], metrics["share_of_f"]) == (1, 0)


@given(st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=8, unique=True))
def test_every_class_has_a_distinct_metric_name_without_slashes(labels):
    names = metric_names(labels)
    assert not any("/" in name or ":" in name or " " in name for name in names)
    assert len(set(names)) == len(labels)


def test_labels_stay_readable():
    assert metric_names(["science/technology", "体育"]) == ["science_technology", "体育"]
    assert metric_names(["a b", "a/b", "c"]) == ["a_b_0", "a_b_1", "c_2"]
