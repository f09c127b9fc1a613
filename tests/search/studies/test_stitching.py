"""A stitching search from end to end on a tiny world: equal tables, baselines, confirmation, exported models."""

import csv
import json

import pytest
from transformers import pipeline

from seedwise.search.ledger.file import read
from seedwise.search.spec.load import read as read_specification
from seedwise.trainables.tasks.sources import Classification
from tests import tiny
from tests.search.studies.test_search import run

CHANGES = [
    "name=small",
    "sampler=grid",
    "space.k={choices: [60, 200]}",  # sparsemax at this temperature never uses so many: equal tables
    "space.weighting=sparsemax",
    "space.tau=0.05",
    "space.epochs=2",
    "space.batch_size=4",
    "enqueue=[]",
    "budget.runs=6",
    "replicates={policy: fixed, n: 2, confirm: {top: 2, fresh: 1}}",
    "baselines={ls: {map: {choices: [plain, ridge]}, strength: 1.0}, zero_shot: {lr: 2e-3}, constant: {}}",
    "inputs.multilingual='world:multilingual-encoder'",
    "tracking.uri=off",
]


@pytest.fixture(scope="module")
def searched(tmp_path_factory, ray_here):
    folder = tmp_path_factory.mktemp("stitching")
    tiny.topics(folder / "topics")
    output = run(folder, "search", "demo", *tiny.words([f"task.data={folder / 'topics'}", *CHANGES]))
    return folder, output


@pytest.fixture(scope="module")
def task(searched):
    return Classification(read_specification("demo", [f"task.data={searched[0] / 'topics'}"]).task)


def test_equal_tables_are_trained_once(searched):
    folder, _ = searched
    state = read(folder / "runs" / "small" / "ledger.jsonl")
    own = [configuration for configuration in state.configurations.values() if not configuration.baseline]
    assert [configuration.params["k"] for configuration in own] == [60, 200]
    runs = [[configuration.runs[replicate] for replicate in (0, 1)] for configuration in own]
    for result, equal in zip(*runs, strict=True):
        assert result.fingerprint == equal.fingerprint
        assert [bool(result.same_as), bool(equal.same_as)].count(True) == 1
        shared = [name for name in result.metrics if "_share/" not in name or name.startswith("dev/")]
        assert {name: result.metrics[name] for name in shared} == {name: equal.metrics[name] for name in shared}
    assert len(state.frozen) == 1  # the second has nothing to confirm


def test_maps_of_ls_share_one_source_model_in_the_search_and_on_fresh_seeds(searched):
    folder, _ = searched
    state = read(folder / "runs" / "small" / "ledger.jsonl")
    plain, ridge = (one for one in state.configurations.values() if one.baseline == "ls")
    assert (plain.params["map"], ridge.params["map"]) == ("plain", "ridge")
    assert list(plain.runs) == list(ridge.runs) == [0, 1, 1000]
    for replicate, one in plain.runs.items():
        other = ridge.runs[replicate]
        assert {bool(one.same_as), bool(other.same_as)} == {True, False}
        source = [name for name in one.metrics if name.endswith("/qel")]
        assert {name: one.metrics[name] for name in source} == {name: other.metrics[name] for name in source}
        assert one.metrics["train/anchors/qan"] == other.metrics["train/anchors/qan"]
    assert "test/macro_f1/qan" in ridge.runs[1000].metrics


def test_baselines_are_rows_with_fresh_scores_on_the_same_test_sets(searched, task):
    folder, output = searched
    rows = json.loads((folder / "runs" / "small" / "leaderboard.json").read_text())
    baselines = {row["baseline"]: row for row in rows if row["baseline"]}
    assert set(baselines) == {"LS plain", "LS ridge", "zero-shot", "constant"}
    for row in baselines.values():
        assert row["replicates"] == 2
        assert set(row["fresh"]["scores"]["test/macro_f1"]) == {"qel", "qan", "qor", "mean_all", "mean_targets"}
    assert not rows[0]["baseline"]
    assert rows[0]["fresh"]["scores"]["test/macro_f1"]["qan"]["n"] == 1
    # By hand: the constant classifier has F1 of one class alone, 2 p / (1 + p) of its share p, over all classes.
    classes, counts = task.split("qel", "train")[1], task.split("qan", "test")[1]
    most = max(set(classes), key=classes.count)
    share = counts.count(most) / len(counts)
    assert baselines["constant"]["fresh"]["scores"]["test/macro_f1"]["qan"]["mean"] == pytest.approx(
        2 * share / (1 + share) / len(task.labels)
    )
    assert baselines["constant"]["collapsed"]["dev/qan"] == 2
    assert "baseline: LS plain" in output
    assert "! a single class is predicted" in output
    with open(folder / "runs" / "small" / "leaderboard.csv") as file:
        assert {row["baseline"] for row in csv.DictReader(file)} == {"", *baselines}


def test_the_report_and_a_dry_run_say_what_each_baseline_was_allowed(searched):
    folder, _ = searched
    output = run(folder, "report", "runs/small")
    page = (folder / "runs" / "small" / "report.html").read_text()
    changes = tiny.words([f"task.data={folder / 'topics'}", *CHANGES])
    for text in (output, page, run(folder, "search", "demo", *changes, "--dry-run")):
        for line in (
            "LS: 2 configurations (lr 0.002; epochs 2; map plain, ridge), 2 replicates each",
            "zero-shot: 1 configuration (lr 0.002; epochs 2), 2 replicates each",
            "the method: at most 6 runs",
        ):
            assert line in text


def test_an_exported_model_gives_the_labels_of_the_search(searched, task, tmp_path):
    """With transformers only. test_demo_apart.py tests it without this project."""
    folder, _ = searched
    models = tmp_path / "models"
    output = run(folder, "export", "runs/small", "--model", models)
    assert "the scores are those of the search" in output
    assert sorted(path.name for path in models.iterdir()) == ["qan", "qor"]
    row = json.loads((folder / "runs" / "small" / "leaderboard.json").read_text())[0]
    state = read(folder / "runs" / "small" / "ledger.jsonl")
    recorded = state.configurations[row["config_id"]].runs[0].metrics
    for language in ("qan", "qor"):
        texts, classes = task.split(language, "dev")
        classify = pipeline("text-classification", model=str(models / language))
        labels = [answer["label"] for answer in classify(texts, truncation=True)]
        right = sum(label == task.labels[number] for label, number in zip(labels, classes, strict=True))
        assert right / len(texts) == pytest.approx(recorded[f"dev/accuracy/{language}"])
        for label in task.labels:
            assert labels.count(label) / len(labels) == pytest.approx(recorded[f"dev/share_of_{label}/{language}"])
    # A second export does not overwrite the first.
    assert "Name another folder." in run(folder, "export", "runs/small", "--model", models, code=2)
