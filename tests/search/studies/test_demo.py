"""The embedded demo on a tiny world: stitching on Ray, MLflow beside it, export and rerun."""

import shutil

import pytest
import torch
from mlflow import MlflowClient

from seedwise import yaml12
from seedwise.search.ledger.file import read
from seedwise.trainables.stitching.trainable import Stitching
from seedwise.trainables.streams import Streams
from tests import tiny
from tests.prepared import prepare, prepare_test
from tests.search.studies.test_search import board, run, typed

SMALL = [
    "budget.runs=10",
    "replicates.max=3",
    "replicates.explore=0.1",
    "replicates.confirm={top: 1, fresh: 2}",
    "space.epochs=2",
    "space.batch_size=4",
    "task.targets=[qan]",
    "inputs.vectors={qan: 'world:vectors/qan.vec.gz'}",
    "inputs.lexicons={qan: 'world:lexicons/qel-qan.txt'}",
]


@pytest.fixture(scope="module")
def searched(tmp_path_factory, ray_here, database):
    home = tmp_path_factory.mktemp("demo")
    tiny.topics(home / "topics")
    (home / "runs").mkdir()
    shutil.move(database().removeprefix("sqlite:///"), home / "runs" / "mlflow.db")  # where searches write
    return home, run(home, "search", "demo", *tiny.words([*SMALL, f"task.data={home / 'topics'}"]))


def test_the_degenerate_point_and_the_papers_setting_go_first(searched):
    home, _ = searched
    state = read(home / "runs" / "demo" / "ledger.jsonl")
    first, second, *_ = [
        (configuration.params["k"], configuration.params.get("weighting"))
        for configuration in state.configurations.values()
    ]
    assert (first, second) == ((1, None), (50, "standard"))
    rows = board(home / "runs" / "demo")
    assert sum(row["replicates"] for row in rows) == 8
    assert all(set(row["scores"]["dev/macro_f1"]) == {"qan", "qel", "mean_all"} for row in rows)
    assert set(rows[0]["fresh"]["scores"]["test/macro_f1"]) == {"qan", "qel", "mean_all"}


def test_workers_fresh_or_reused_agree_with_a_run_outside_ray(searched):
    """Ten runs on two workers, forked from a warm process: each score is that of this process, which runs no worker."""
    home, _ = searched
    state = read(home / "runs" / "demo" / "ledger.jsonl")
    specification = state.search["specification"]
    torch.set_num_threads(1)
    inputs, tests = prepare(Stitching, specification), prepare_test(Stitching, specification)
    for result in [*list(state.runs_of("search"))[-3:], *list(state.runs_of("confirm"))[-1:]]:
        params = state.configurations[result.config_id].params
        method = Stitching(inputs, params, Streams(0, result.replicate), torch.device("cpu"))
        metrics = [method.step(number) for number in range(method.steps)][-1]
        assert metrics | (method.test(tests) if result.phase == "confirm" else {}) == result.metrics


def test_the_best_configuration_reruns_to_the_same_scores(searched):
    home, _ = searched
    exported = yaml12.load((home / "runs" / "demo" / "best.yaml").read_text())
    output = run(home, "run", "runs/demo/best.yaml")
    assert f"All scores of {len(exported['replicates'])} replicates equal those of runs/demo/best.yaml." in output
    assert sum(replicate["phase"] == "confirm" for replicate in exported["replicates"]) == 2
    assert len(exported["checksums"]) == 4
    assert exported["versions"]["torch"]
    assert exported["rerun_by"] == "seedwise run runs/demo/best.yaml"


def test_mlflow_has_three_levels_and_the_scores_of_the_leaderboard(searched):
    home, _ = searched
    rows = board(home / "runs" / "demo")
    client = MlflowClient(f"sqlite:///{home}/runs/mlflow.db")
    experiment = client.get_experiment_by_name("demo")
    assert experiment.tags["mlflow.experiment.primaryMetric.name"] == "score"
    runs = client.search_runs([experiment.experiment_id])
    levels = {level: [r for r in runs if r.data.tags["level"] == level] for level in ("search", "configuration", "run")}
    expected = {"search": 1, "configuration": len(rows), "run": 10}
    assert {level: len(of_level) for level, of_level in levels.items()} == expected
    for row in rows:
        mlflow_run = next(r for r in levels["configuration"] if r.data.tags["config_id"] == row["config_id"])
        assert mlflow_run.data.metrics["score"] == row["mean"]
        assert mlflow_run.data.metrics.get("score_sd") == row["sd"]
        assert mlflow_run.data.metrics["estimate"] == row["estimate"]
        assert mlflow_run.data.metrics["p_best"] == row["p_best"]
        assert mlflow_run.data.metrics["dev/macro_f1/qan"] == row["scores"]["dev/macro_f1"]["qan"]["mean"]
        if row["fresh"]:
            assert mlflow_run.data.metrics["fresh_score"] == row["fresh"]["mean"]
            assert (
                mlflow_run.data.metrics["test/macro_f1/qan"] == row["fresh"]["scores"]["test/macro_f1"]["qan"]["mean"]
            )
    assert levels["search"][0].data.metrics["fresh_score"] == rows[0]["fresh"]["mean"]
    artifacts = {entry.path for entry in client.list_artifacts(levels["search"][0].info.run_id)}
    assert {"search.yaml", "best.yaml", "leaderboard.json"} <= artifacts


def test_the_output_names_the_next_steps(searched):
    home, output = searched
    assert f"compare in MLflow: {typed(home, 'ui', 'runs/demo')}\n" in output
    assert f"rerun the best: {typed(home, 'run', 'runs/demo/best.yaml')}\n" in output
    assert "Traceback" not in output
    assert "Warning" not in output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--register", "x"], "--register x: there is nothing to register. Add --model FOLDER."),
        (["--register", "a/b", "--model", "m"], "--register a/b: MLflow does not accept this name. Write letters"),
    ],
)
def test_a_model_that_cannot_be_registered_is_refused_before_training(searched, arguments, said):
    assert said in run(searched[0], "export", "runs/demo", *arguments, code=2)
