import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from search.errors import RequestError
from trainables.tasks.classification import accuracy, macro_f1, read_labels, read_split, scores

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=60)


@given(PAIRS)
def test_metrics_are_scikit_learns(pairs):
    truth, predicted = (np.array(side) for side in zip(*pairs, strict=True))
    expected = f1_score(truth, predicted, average="macro", labels=range(5), zero_division=0)
    assert macro_f1(truth, predicted, 5) == pytest.approx(expected)
    assert accuracy(truth, predicted) == pytest.approx(accuracy_score(truth, predicted))


def test_the_constant_classifier_on_taxi1500_scores_what_the_counts_say():
    truth = np.repeat(np.arange(6), [29, 26, 19, 16, 14, 7])
    assert macro_f1(truth, np.zeros_like(truth), 6) == pytest.approx(0.069, abs=5e-4)
    assert scores(truth, np.zeros_like(truth), 6)["predicted_classes"] == 1


def files(folder, rows, labels="a\nb\n"):
    (folder / "xx").mkdir()
    (folder / "xx" / "labels.txt").write_text(labels)
    (folder / "xx" / "dev.tsv").write_text("index_id\tcategory\ttext\n" + "".join(f"{row}\n" for row in rows))


def test_the_published_quoting_is_undone(tmp_path):
    files(tmp_path, ['1\tb\t"He said ""no"" twice"', "2\ta\tplain"])
    labels = read_labels(tmp_path, "xx")
    assert labels == ["a", "b"]
    assert read_split(tmp_path, "xx", "dev", labels) == (['He said "no" twice', "plain"], [1, 0])


@pytest.mark.parametrize(
    ("rows", "message"),
    [(["1\ta\tfine", "2\tc\tbad"], r"dev.tsv line 3: 'c' is not in labels.txt"), ([], "holds no examples")],
)
def test_a_row_without_a_known_label_is_an_error(tmp_path, rows, message):
    files(tmp_path, rows)
    with pytest.raises(RequestError, match=message):
        read_split(tmp_path, "xx", "dev", ["a", "b"])
