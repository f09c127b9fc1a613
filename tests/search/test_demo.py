"""The embedded demo, made small, as a person runs it: stitching on Ray, MLflow beside it, export and rerun."""

import json
import subprocess
import sys

import pytest
from mlflow import MlflowClient

from search import yaml12
from search.ledger import read
from tests.search.test_search import board, run

SMALL = [
    "budget.runs=10",
    "replicates.max=3",
    "replicates.explore=0.1",
    "replicates.confirm={top: 1, fresh: 2}",
    "space.epochs=2",
    "task.targets=[qan]",
    "inputs.vectors={qan: 'world:vectors/qan.vec.gz'}",
    "inputs.lexicons={qan: 'world:lexicons/qel-qan.txt'}",
]


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    home = tmp_path_factory.mktemp("demo")
    overrides = [word for change in SMALL for word in ("--set", change)]
    output = run(home, "search", "demo", *overrides)
    return home, output


def test_the_degenerate_point_and_the_papers_setting_go_first(searched):
    home, _ = searched
    rows = board(home / "runs" / "demo")
    assert {(row["params"]["k"], row["params"].get("weighting")) for row in rows} == {(1, None), (50, "standard")}
    assert all(row["replicates"] == 3 and row["failed"] == 0 for row in rows)
    assert all(set(row["scores"]["dev/macro_f1"]) == {"qan", "qel"} for row in rows)


def test_fresh_and_reused_workers_agree_with_a_run_outside_ray(searched):
    """Six runs on two workers: every worker was reused. Each score equals that of a new process without Ray."""
    home, _ = searched
    state = read(home / "runs" / "demo" / "ledger.jsonl")
    program = """
import json, sys, torch
from trainables.device import set_up
from trainables.stitching.trainable import Stitching
from trainables.streams import Streams
specification, params, replicate = json.load(sys.stdin)
method = Stitching(Stitching.prepare(specification), params, Streams(0, replicate), set_up(1, 0.0))
print(json.dumps([method.epoch(number) for number in range(method.epochs)][-1]))
"""
    for configuration in state.configurations.values():
        for replicate in (0, 2):
            job = json.dumps([state.search["specification"], configuration.params, replicate])
            alone = subprocess.run(
                [sys.executable, "-c", program], input=job, capture_output=True, text=True, check=True
            )
            assert json.loads(alone.stdout) == configuration.runs[replicate].metrics


def test_the_best_configuration_reruns_to_the_same_scores(searched):
    home, _ = searched
    output = run(home, "run", "runs/demo/best.yaml")
    assert "All scores of 3 replicates are those of runs/demo/best.yaml." in output
    exported = yaml12.load((home / "runs" / "demo" / "best.yaml").read_text())
    assert len(exported["checksums"]) == 4
    assert exported["versions"]["torch"]
    assert exported["made_by"].startswith("python run_search.py search demo")
    assert exported["rerun_by"] == "python run_search.py run runs/demo/best.yaml"


def test_mlflow_has_three_levels_and_the_scores_of_the_leaderboard(searched):
    home, _ = searched
    client = MlflowClient(f"sqlite:///{home}/runs/mlflow.db")
    experiment = client.get_experiment_by_name("demo")
    assert experiment.tags["mlflow.experiment.primaryMetric.name"] == "score"
    runs = client.search_runs([experiment.experiment_id])
    levels = {level: [r for r in runs if r.data.tags["level"] == level] for level in ("search", "configuration", "run")}
    assert {level: len(found) for level, found in levels.items()} == {"search": 1, "configuration": 2, "run": 6}
    for row in board(home / "runs" / "demo"):
        found = next(r for r in levels["configuration"] if r.data.tags["config_id"] == row["config_id"])
        assert found.data.metrics["score"] == row["mean"]
        assert found.data.metrics["score_sd"] == row["sd"]
        assert found.data.metrics["dev/macro_f1/qan"] == row["scores"]["dev/macro_f1"]["qan"]["mean"]
        history = client.get_metric_history(found.info.run_id, "score")
        assert [point.step for point in history] == [1, 2, 3]
    artifacts = {entry.path for entry in client.list_artifacts(levels["search"][0].info.run_id)}
    assert {"search.yaml", "best.yaml", "leaderboard.json"} <= artifacts


def test_the_output_names_the_next_steps(searched):
    _, output = searched
    assert "compare in MLflow: python run_search.py ui runs/demo" in output
    assert "rerun the best: python run_search.py run runs/demo/best.yaml" in output
    assert "Traceback" not in output
    assert "Warning" not in output
