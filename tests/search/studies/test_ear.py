"""An EAR search from end to end on a tiny world: baselines, test sets, pictures, reruns."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest
import torch
from mlflow import MlflowClient

from seedwise.search.ledger.file import read
from seedwise.trainables.ear.trainable import Ear
from seedwise.trainables.pictures import checked
from seedwise.trainables.streams import Streams
from tests import tiny
from tests.conftest import ROOT
from tests.prepared import prepare, prepare_test
from tests.search.report.test_html_report import without_scripts
from tests.search.story import TEST_TIMEOUT
from tests.search.studies.test_search import board, run

CHANGES = [
    "task.targets=[qan]",
    "space.epochs=1",
    "space.batch_size=4",
    "space.lr=2e-3",
    "budget.runs=5",
    "replicates={policy: fixed, n: 1, confirm: {top: 2, fresh: 1}}",
    "baselines={plain: {epochs: 1}, rs_da: {epochs: 1}, rs_rp: {epochs: 1, radius: 0.1},"
    " adv: {epochs: 1, radius: 0.02, ascents: 1}}",
    "tracking.uri=off",
]
TITLES = {"plain": "plain", "rs_da": "RS-DA", "rs_rp": "RS-RP", "adv": "ADV"}
ROWS = {"train": 32, "dev": 12, "test": 12}
PASSES = {"plain": 1, "rs_da": 1, "rs_rp": 1, "adv": 2}  # of one epoch


@pytest.fixture(scope="module")
def searched(tmp_path_factory, ray_here):
    home = tmp_path_factory.mktemp("ear")
    tiny.topics(home / "topics", ("qel", "qan"), ROWS)
    return home, run(home, "search", "demo-ear", *tiny.words([f"task.data={home / 'topics'}", *CHANGES]))


@pytest.fixture(scope="module")
def state(searched):
    return read(searched[0] / "runs" / "demo-ear" / "ledger.jsonl")


def test_the_degenerate_point_and_the_papers_weights_go_first_and_all_runs_succeed(searched, state):
    own = [configuration.params for configuration in state.configurations.values() if not configuration.baseline]
    assert len(own) == 3
    assert (own[0]["push"], own[0]["pull"]) == ("none", "none")
    assert [own[1][key] for key in ("push", "pull", "alpha", "beta", "layer")] == ["ept", "apt", 1.0, 0.1, 2]
    assert {result.status for result in state.runs()} == {"done"}
    assert sum(1 for _ in state.runs_of("search")) == 3 + 4
    assert sum(1 for _ in state.runs_of("confirm")) == 2 + 4
    assert "Traceback" not in searched[1]


def test_the_leaderboard_has_the_method_and_all_baselines_with_scores_on_the_test_sets(searched, state):
    rows = board(searched[0] / "runs" / "demo-ear")
    assert len(rows) == 3 + 4
    assert {row["baseline"] for row in rows if row["baseline"]} == set(TITLES.values())
    confirmed = [row for row in rows if row["fresh"]]
    assert {row["baseline"] or "" for row in confirmed} == {"", *TITLES.values()}
    assert not rows[0]["baseline"]
    for row in confirmed:
        (of_test,) = (result for result in state.runs_of("confirm") if result.config_id == row["config_id"])
        for metric in ("macro_f1", "accuracy"):
            scores = row["fresh"]["scores"][f"test/{metric}"]
            assert {language: summary["n"] for language, summary in scores.items()} == {
                "qel": 1,
                "qan": 1,
                "mean_all": 1,
            }
            assert scores["qan"]["mean"] == of_test.metrics[f"test/{metric}/qan"]
    for result in state.runs_of("search"):
        assert not any(name.startswith("test/") for name in result.metrics)
    for result in state.runs():
        expected = PASSES.get(state.configurations[result.config_id].params.get("baseline"), 2)
        assert result.metrics["train/encoder_passes/qel"] == expected


def drawn(state):
    """The names of the pictures of each confirmed configuration: baselines have no push and no pull to draw."""
    names = {}
    for identity in (*state.frozen, *state.frozen_baselines):
        params = state.configurations[identity].params
        squares = params.get("push") == "ept" or params.get("pull", "none") != "none"
        names[identity] = [*(["losses"] if squares else []), "words"]
    assert ["losses", "words"] in names.values()  # at most one of the two is the degenerate point
    return names


def test_the_confirmed_runs_are_drawn(searched, state):
    home, _ = searched
    folder = home / "runs" / "demo-ear" / "pictures"
    files = {path.name: json.loads(path.read_text()) for path in folder.iterdir()}
    assert files.keys() == {f"{identity}-1000.json" for identity in drawn(state)}
    for identity, names in drawn(state).items():
        pictures = files[f"{identity}-1000.json"]
        assert [picture["name"] for picture in checked(pictures)] == names
        titles = [panel["title"].partition(":")[0] for panel in pictures[-1]["panels"]]
        assert titles == ["qan, before", "qan, after"]
    before = {json.dumps(pictures[-1]["panels"][0]) for pictures in files.values()}
    assert len(before) == 1  # all of them began with the same encoder


def test_mlflow_has_the_pictures_beside_the_runs(searched, state, database):
    store = database()
    run(searched[0], "track", "runs/demo-ear", "--uri", store)
    client = MlflowClient(store)
    runs = client.search_runs([client.get_experiment_by_name("demo-ear").experiment_id])
    assert sum(mlflow_run.data.tags["level"] == "run" for mlflow_run in runs) == 3 + 4 + 2 + 4
    drawn_runs = {}
    for mlflow_run in runs:
        if files := {file.path for file in client.list_artifacts(mlflow_run.info.run_id, "pictures")}:
            drawn_runs[mlflow_run.data.tags["config_id"], mlflow_run.data.tags["replicate"]] = files
    assert drawn_runs == {
        (identity, "1000"): {f"pictures/{name}.svg" for name in names} for identity, names in drawn(state).items()
    }


def test_the_report_holds_the_pictures(searched, state):
    home, _ = searched
    root = ElementTree.fromstring(without_scripts((home / "runs" / "demo-ear" / "report.html").read_text()))
    titles = [element[0].text for element in root.iter("{http://www.w3.org/2000/svg}svg")]
    shown = {"losses": "Push and pull over a run", "words": "Words of parallel sentences before and after fine-tuning"}
    assert sorted(titles) == sorted(shown[name] for names in drawn(state).values() for name in names)
    pictures = next(section for section in root.iter("section") if section.get("id") == "pictures")
    assert {title.get("id") for title in pictures.iter("h3")} == {*state.frozen, *state.frozen_baselines}
    text = " ".join(root.itertext())
    assert all(title in text for title in TITLES.values())


def chosen(state):
    """A run of the search and all of the confirmation."""
    return [list(state.runs_of("search"))[1], *state.runs_of("confirm")]


def outside_ray(specification: dict, runs: list) -> list[dict]:
    """The metrics of (parameters, replicate, phase) in this process, one run after another."""
    torch.set_num_threads(1)
    inputs, tests, scores = prepare(Ear, specification), prepare_test(Ear, specification), []
    for params, replicate, phase in runs:
        method = Ear.class_for(params)(inputs, params, Streams(0, replicate), torch.device("cpu"))
        metrics = [method.step(number) for number in range(method.steps)][-1]
        scores.append(metrics | (method.test(tests) if phase == "confirm" else {}))
    return scores


def request_of(state):
    runs = [
        [dict(state.configurations[result.config_id].params), result.replicate, result.phase]
        for result in chosen(state)
    ]
    return state.search["specification"], runs


def test_a_run_outside_ray_has_the_same_scores_bit_for_bit(state):
    """One process, one run after another, gives the scores of Ray workers, reused or not."""
    assert outside_ray(*request_of(state)) == [result.metrics for result in chosen(state)]


@pytest.mark.extended
def test_a_process_of_its_own_has_the_same_scores_bit_for_bit(state):
    program = """
import json, sys
from tests.search.studies.test_ear import outside_ray
print(json.dumps(outside_ray(*json.load(sys.stdin))))
"""
    line, given = [sys.executable, "-c", program], json.dumps(request_of(state))
    alone = subprocess.run(
        line, input=given, cwd=ROOT, capture_output=True, text=True, check=True, timeout=TEST_TIMEOUT
    )
    assert json.loads(alone.stdout.splitlines()[-1]) == [result.metrics for result in chosen(state)]
