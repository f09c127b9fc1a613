"""Landscapes of a tiny world from end to end: from a best.yaml, on real Ray, into MLflow."""

import json
import shutil

import pytest
from mlflow import MlflowClient

from seedwise import yaml12
from seedwise.search.decide.landscape_plan import Plan
from seedwise.search.ledger.file import read, scan
from seedwise.search.spec.load import read as read_specification
from seedwise.search.spec.load import recorded
from seedwise.search.spec.provenance import checksums
from seedwise.trainables.landscape.jobs import BOTH, LINE, PLANE, SEEDS, SOURCE, Model
from tests import tiny
from tests.search.hand_written import HandWritten, metrics
from tests.search.studies.test_search import run, typed

SEARCH = [
    "task.targets=[qan]",
    "inputs.vectors={qan: 'world:vectors/qan.vec.gz'}",
    "inputs.lexicons={qan: 'world:lexicons/qel-qan.txt'}",
]
SMALL = ["landscape.parts=[all]", "landscape.directions=1", "tracking.uri=off"]
ROWS = {"train": 48, "dev": 12, "test": 4}


def made(home, *changes):
    """A search of the demo with changes, written by hand, and the landscape of its configuration at two seeds."""
    specification = read_specification("demo", [*SEARCH, *changes])
    search = HandWritten(specification.as_dict(), checksums(specification))
    search.ask("one", k=10, weighting="softmax", tau=0.1)
    search.run("one", 0, metrics("dev", 0.8, 0.7))
    search.freeze()
    search.end()
    search.write(home / "runs" / "demo")
    run(home, "export", "runs/demo")
    return home, run(home, "landscape", "runs/demo/best.yaml", "--replicates", 2, *tiny.words(SMALL))


@pytest.fixture(scope="module")
def landscape(tmp_path_factory, ray_here):
    home = tmp_path_factory.mktemp("landscape")
    tiny.topics(home / "topics", ("qel", "qan"), ROWS)
    return made(home, f"task.data={home / 'topics'}", "space.epochs=2", "space.batch_size=4")


def numbers_of(home):
    return json.loads((home / "runs" / "demo-landscape" / "landscape.json").read_text())


def test_ends_and_corners_are_the_trained_models_scores_exactly(landscape):
    home, _ = landscape
    state = read(home / "runs" / "demo-landscape" / "ledger.jsonl")
    plan, checked = Plan.of(recorded(state)), 0
    corners = {(0.0, 0.0): 0, (1.0, 0.0): 1, (0.0, 1.0): 2, (0.0,): 0, (1.0,): 1}  # the point of the model itself
    for planned, result in plan.with_runs(state):
        if planned.job.landscape not in (LINE, PLANE, SEEDS):
            continue
        models = [Plan.run_of(state, model) for model in plan.models(planned)]
        for step, point in enumerate(planned.job.points(), start=1):
            if point in corners:
                for name in ("macro_f1", "accuracy"):
                    for language in ("qel", planned.job.target):
                        key = f"dev/{name}/{language}"
                        assert result.steps[step][key] == models[corners[point]].metrics[key], (planned.job, point)
                        checked += 1
    assert checked == 4 * (2 * 4 + 3 + 2)  # two ends of four lines, three corners of a plane, two seeds


def test_it_is_of_the_exported_configuration_and_all_its_models_are_kept(landscape):
    home, _ = landscape
    state = read(home / "runs" / "demo-landscape" / "ledger.jsonl")
    plan = Plan.of(recorded(state))
    exported = yaml12.load((home / "runs" / "demo" / "best.yaml").read_text())
    assert plan.params == exported["params"] | {"freeze_embeddings": True}
    assert numbers_of(home)["params"] == plan.params  # the shown models are the trained models
    models = {name.stem for name in (home / "runs" / "demo-landscape" / "models").iterdir()}
    assert models == {result.name for result in plan.trained.values()}
    assert Model(BOTH, "qan", 1) in plan.trained


def test_all_of_it_is_in_mlflow(landscape, database):
    (home, _), store = landscape, database()
    run(home, "track", "runs/demo-landscape", "--uri", store)
    client = MlflowClient(store)
    experiment = client.get_experiment_by_name("demo-landscape").experiment_id
    runs = client.search_runs([experiment], max_results=1000)
    levels = [mlflow_run.data.tags["level"] for mlflow_run in runs]
    plan = Plan.of(recorded(read(home / "runs" / "demo-landscape" / "ledger.jsonl")))
    assert levels.count("run") == len(plan.runs)
    (top,) = [mlflow_run for mlflow_run in runs if mlflow_run.data.tags["level"] == "search"]
    files = {file.path for file in client.list_artifacts(top.info.run_id)}
    assert {"landscape.json", "report.html"} <= files
    (line,) = [mlflow_run for mlflow_run in runs if mlflow_run.info.run_name == "line source qan part=all, replicate 0"]
    history = client.get_metric_history(line.info.run_id, "dev/macro_f1/qan")
    (own,) = [row for row in numbers_of(home)["lines"] if (row["on"], row["target"]) == ("source", "qan")]
    expected = own["curves"]["qan"]["score"]["replicates"]["0"]
    assert [point.value for point in sorted(history, key=lambda point: point.step)] == expected


def test_the_report_of_the_search_shows_it_and_other_commands_say_where_to_go(landscape):
    home, output = landscape
    finding = numbers_of(home)["sentences"][0]
    run(home, "report", "runs/demo")
    assert ": done, 33 points (" in output
    assert ": done, macro_f1 on source_dev 0." in output  # of a model
    for page in ("runs/demo-landscape/report.html", "runs/demo/report.html"):
        assert finding.split(",")[0] in (home / page).read_text()
    assert (
        f"to see this landscape in the report of its search: {typed(home, 'report', home / 'runs' / 'demo')}" in output
    )
    for name in ("compare", "export"):
        printed = run(home, name, "runs/demo-landscape", code=2)
        assert "runs/demo-landscape: it holds the landscape of one configuration." in printed
    again = run(home, "landscape", "runs/demo/best.yaml", "--replicates", 2, *tiny.words(SMALL))
    assert "is finished" in again
    assert finding in again
    assert "finished: all points are evaluated" in run(home, "status", "runs/demo-landscape")
    before = (home / "runs/demo-landscape/landscape.json").read_bytes()
    assert finding in run(home, "report", "runs/demo-landscape")
    assert (home / "runs/demo-landscape/landscape.json").read_bytes() == before


def test_cut_off_in_the_middle_no_point_is_evaluated_twice_and_the_numbers_are_those_of_an_undisturbed_one(landscape):
    """As after a kill: without the last lines of the ledger and the files made from them."""
    home, _ = landscape
    whole, cut = home / "runs" / "demo-landscape", home / "runs" / "cut"
    shutil.copytree(whole, cut)
    lines = (whole / "ledger.jsonl").read_text().splitlines(keepends=True)
    ends = [index for index, line in enumerate(lines) if '"event": "result"' in line]
    (cut / "ledger.jsonl").write_text("".join(lines[: ends[-3] + 20]))  # within the points of a run
    (cut / "landscape.json").unlink()
    before = points(cut)
    assert len(before) < len(points(whole))
    assert {run.status for run in read(cut / "ledger.jsonl").runs()} == {"done", "interrupted"}
    assert "qan: from the model of qel to the one of both languages" in run(home, "resume", cut)
    after = points(cut)
    assert after[: len(before)] == before
    assert len(set(after)) == len(after) == len(points(whole))
    assert json.loads((cut / "landscape.json").read_text()) == numbers_of(home)


def test_seeds_are_compared_where_there_is_no_label_of_a_target(tmp_path, ray_here):
    """No dev set of a target: the folder has only a small part of the source."""
    tiny.topics(tmp_path / "topics", ("qel",), ROWS)
    changes = [f"task.data={tmp_path / 'topics'}", "task.targets=[]", "tracking.uri=off", "landscape.directions=1"]
    changes += ["enqueue=[{push: none, pull: none, epochs: 1, batch_size: 4, lr: 0.002}]"]
    printed = run(tmp_path, "landscape", "demo-ear", "--seeds-only", "--replicates", 2, *tiny.words(changes))
    assert "Between the source models of two seeds" in printed
    numbers = json.loads((tmp_path / "runs" / "demo-ear-landscape" / "landscape.json").read_text())
    ends = [row["scores"] for row in numbers["models"] if row["on"] == SOURCE]
    (line,) = numbers["seeds"]
    assert line["curves"].keys() == {"qel"}
    at = dict(zip(line["points"], line["curves"]["qel"]["score"], strict=True))
    assert [{"qel": at[0.0]}, {"qel": at[1.0]}] == ends
    page = (tmp_path / "runs" / "demo-ear-landscape" / "report.html").read_text()
    assert "to no other language" in page
    assert "around the model of qel" in page


def points(folder):
    """Configuration, replicate and number of every point in a ledger."""
    return [
        (event["config_id"], event["replicate"], event["step"])
        for event in scan(folder / "ledger.jsonl")[0]
        if event["event"] == "step" and "point/a" in event["metrics"]
    ]
