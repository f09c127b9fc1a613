"""The embedded demo, made small, in processes of its own: search, exported models, and MLflow's pages."""

import csv
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from itertools import takewhile
from urllib.parse import quote

import pytest
from mlflow import MlflowClient

from seedwise import yaml12
from seedwise.search.ledger.file import read
from seedwise.search.spec.load import read as read_specification
from seedwise.search.tracking.mlflow_ui import Pages
from seedwise.trainables.tasks.sources import Classification
from tests.browser import new_browser
from tests.search.story import TEST_TIMEOUT
from tests.search.studies.test_search import board, command, environment, run, typed
from tests.servers import own_port

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


# How others use an exported folder. None in sys.modules makes this project impossible to import.
STRANGER = """
import json, sys
sys.modules["seedwise"] = None
from transformers import pipeline
classify = pipeline("text-classification", model=sys.argv[1])
print(json.dumps([answer["label"] for answer in classify(json.load(sys.stdin), truncation=True)]))
"""

pytestmark = pytest.mark.extended


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    home = tmp_path_factory.mktemp("demo")
    overrides = [word for change in SMALL for word in ("--set", change)]
    output = run(home, "search", "demo", *overrides, apart=True)
    return home, output


def test_the_search_is_whole_and_all_of_it_is_in_mlflow(searched):
    home, _ = searched
    rows = board(home / "runs" / "demo")
    assert sum(row["replicates"] for row in rows) == 8
    assert set(rows[0]["fresh"]["scores"]["test/macro_f1"]) == {"qan", "qel", "mean_all"}
    client = MlflowClient(f"sqlite:///{home}/runs/mlflow.db")
    experiment = client.get_experiment_by_name("demo").experiment_id
    levels = [mlflow_run.data.tags["level"] for mlflow_run in client.search_runs([experiment])]
    assert Counter(levels) == {"search": 1, "configuration": len(rows), "run": 10}


def test_workers_fresh_or_reused_agree_with_a_process_without_ray(searched):
    """Ten runs on two workers: they were reused. Each score equals that of a process without Ray."""
    home, _ = searched
    state = read(home / "runs" / "demo" / "ledger.jsonl")
    program = """
import json, sys, torch
from seedwise.search.spec.schema import Specification
from seedwise.trainables.training.device import set_up
from seedwise.trainables.stitching.trainable import Stitching
from seedwise.trainables.streams import Streams
recorded, runs = json.load(sys.stdin)
specification = Specification.model_validate(recorded)
place, tests = set_up(1, 0.0), Stitching.prepare_test(specification)
inputs = Stitching.prepare(specification, specification.parts.candidates)
for params, replicate, phase in runs:
    method = Stitching(inputs, params, Streams(0, replicate), place)
    metrics = [method.step(number) for number in range(method.steps)][-1]
    print(json.dumps(metrics | (method.test(tests) if phase == "confirm" else {})))
"""
    runs = [*list(state.runs_of("search"))[-3:], *list(state.runs_of("confirm"))[-1:]]
    jobs = [[state.configurations[result.config_id].params, result.replicate, result.phase] for result in runs]
    job = json.dumps([state.search["specification"], jobs])
    alone = subprocess.run([sys.executable, "-c", program], input=job, capture_output=True, text=True, check=True)
    assert [json.loads(line) for line in alone.stdout.splitlines()] == [result.metrics for result in runs]


def test_the_exported_configuration_says_what_made_it(searched):
    home, _ = searched
    exported = yaml12.load((home / "runs" / "demo" / "best.yaml").read_text())
    assert exported["made_by"].startswith("seedwise search demo")
    assert exported["rerun_by"] == "seedwise run runs/demo/best.yaml"


def test_the_output_names_the_next_steps(searched):
    home, output = searched
    assert f"compare in MLflow: {typed(home, 'ui', 'runs/demo')}\n" in output
    assert f"rerun the best: {typed(home, 'run', 'runs/demo/best.yaml')}\n" in output
    assert "Traceback" not in output
    assert "Warning" not in output


@pytest.fixture(scope="module")
def exported(searched):
    """The folder of the models, which are also registered in MLflow, and the output."""
    home, _ = searched
    return home / "models", run(home, "export", "runs/demo", "--model", "models", "--register", "topics", apart=True)


def test_an_exported_model_gives_the_same_labels_where_this_project_is_not(searched, exported, tmp_path):
    (home, _), (models, output) = searched, exported
    assert "the scores are those of the search" in output
    task = Classification(read_specification("demo").task)
    best = board(home / "runs" / "demo")[0]["config_id"]
    recorded = read(home / "runs" / "demo" / "ledger.jsonl").configurations[best].runs[0].metrics
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"HF_HUB_OFFLINE": "1"}
    texts, classes = task.split("qan", "dev")
    done = subprocess.run(
        [sys.executable, "-I", "-c", STRANGER, str(models / "qan")],
        input=json.dumps(texts),
        cwd=tmp_path,
        env=plain,
        capture_output=True,
        text=True,
        timeout=TEST_TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    labels = json.loads(done.stdout.splitlines()[-1])
    right = sum(label == task.labels[number] for label, number in zip(labels, classes, strict=True))
    assert right / len(texts) == pytest.approx(recorded["dev/accuracy/qan"])
    for label in task.labels:
        assert labels.count(label) / len(labels) == pytest.approx(recorded[f"dev/share_of_{label}/qan"])


def test_a_registered_model_predicts_what_the_exported_folder_does(searched, exported):
    """Loaded by MLflow alone, from its own store."""
    (home, _), (models, output) = searched, exported
    assert "registered models:/topics/1" in output
    program = """
import sys, mlflow, transformers
mlflow.set_tracking_uri(sys.argv[1])
text = open(sys.argv[2]).read()
folder = transformers.pipeline("text-classification", model=sys.argv[3])
print(mlflow.transformers.load_model("models:/topics/1")(text) == folder(text))
"""
    words = home / "text.txt"
    words.write_text("baka nobu lomi")
    store = f"sqlite:///{home}/runs/mlflow.db"
    line = [sys.executable, "-c", program, store, str(words), str(models / "qan")]
    assert subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip() == "True"
    client = MlflowClient(store)
    version = client.get_model_version("topics", "1")
    best = board(home / "runs" / "demo")[0]["config_id"]
    assert version.tags.items() >= {"config_id": best, "replicate": "0", "search": "demo"}.items()
    assert client.get_run(version.run_id).data.tags["replicate"] == "0"
    assert "Scores over seeds" in version.description


@pytest.fixture(scope="module")
def browser():
    with new_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def shown(searched):
    """`compare --ui` as a person starts it: the store, and the addresses that it prints. Ctrl-C ends it."""
    home, _ = searched
    port = own_port()
    process = subprocess.Popen(
        command("compare", "runs/demo", "--ui", "--top", "3", "--port", str(port)),
        cwd=home,
        env={**environment(), "BROWSER": "true"},  # a browser that shows nothing
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.default_int_handler
        ),  # the parent of the tests may ignore it
    )
    links = {}
    for line in process.stdout:
        what, _, link = line.strip().partition(": http")
        links |= {what: f"http{link}"} if link else {}
        if line.startswith("Ctrl-C"):
            break
    yield Pages(f"sqlite:///{home}/runs/mlflow.db", port), links
    process.send_signal(signal.SIGINT)
    assert process.wait(TEST_TIMEOUT) == 0


def configurations(pages):
    """The configurations in MLflow, the highest mean first: id, name, mean score, parameters."""
    client = MlflowClient(pages.uri)
    experiment = client.get_experiment_by_name("demo").experiment_id
    rows = client.search_runs([experiment], "tags.level = 'configuration'", order_by=["metrics.score DESC"])
    return [(r.data.tags["config_id"], r.info.run_name, r.data.metrics["score"], r.data.params) for r in rows]


ROWS = ".ag-pinned-left-cols-container .ag-row"


def names(page):
    """The names of the runs in the table of an experiment, from the top."""
    page.wait_for_selector(ROWS)
    rows = sorted(page.locator(ROWS).all(), key=lambda row: int(row.get_attribute("row-index")))
    texts = [[line for line in row.inner_text().splitlines() if line and line != "Pin run"] for row in rows]
    return [next(line for line in lines if not line.startswith("#")) for lines in texts]  # without its colour


def test_mlflows_page_lists_the_configurations_best_first(browser, shown):
    pages, _ = shown
    with browser.page(1600, 1000) as (page, _):
        page.goto(pages.experiment("demo"))
        assert names(page) == [name for _, name, *_ in configurations(pages)]


def test_mlflows_page_sorts_configurations_by_the_spread_of_a_target_language(browser, searched, shown):
    """By the sd of qan over seeds, least first, as in leaderboard.csv; those of one seed have no sd and come last."""
    (home, _), (pages, _) = searched, shown
    with open(home / "runs" / "demo" / "leaderboard.csv", newline="") as file:
        sds = {row["config_id"]: row["dev/macro_f1/qan_sd"] for row in csv.DictReader(file)}
    known = {config_id: float(sd) for config_id, sd in sds.items() if sd}
    assert len(known) > 1
    name_of = {config_id: name for config_id, name, *_ in configurations(pages)}
    address = pages.experiment("demo").replace(
        quote("metrics.`score`"), quote("metrics.`dev/macro_f1/qan_sd`", safe="")
    )
    with browser.page(1600, 1000) as (page, _):
        page.goto(address.replace("orderByAsc=false", "orderByAsc=true"))
        expected = [name_of[config_id] for config_id in sorted(known, key=known.get)]
        assert names(page)[: len(expected)] == expected


def test_mlflow_nests_configurations_and_replicates_below_the_search(browser, shown):
    pages, _ = shown
    with browser.page(1600, 1000) as (page, _):
        page.goto(pages.experiment("demo").partition("?")[0])
        assert names(page) == ["demo"]
        page.locator(f"{ROWS} button").first.click()  # unfolds the search
        page.wait_for_selector(f"{ROWS} >> nth=1")
        listed = names(page)
        assert listed[0] == "demo"
        own = configurations(pages)
        assert set(listed[1:]) == {name for _, name, *_ in own}
        page.locator(f"{ROWS}[row-index='1'] button").first.click()  # unfolds the first configuration
        page.wait_for_selector(f"text={listed[1]}, replicate 0")
        assert names(page)[2].startswith(f"{listed[1]}, ")


def test_mlflows_comparison_has_the_best_configurations_with_parameters_and_means(browser, searched, shown):
    pages, links = shown
    best = [row["config_id"] for row in board(searched[0] / "runs" / "demo")[:3]]
    with browser.page() as (page, _):
        page.goto(links["the best configurations"])
        page.wait_for_selector("text=Run details")
        page.wait_for_selector(".CompareRunView .js-plotly-plot")  # parallel coordinates
        page.wait_for_selector("text=dev/macro_f1/qel")
        assert "Comparing 3 Runs from 1 Experiment" in page.inner_text("body").splitlines()
        rows = "rows => rows.map(row => [...row.children].map(cell => cell.innerText.trim()))"
        table = {first: rest for first, *rest in page.eval_on_selector_all("tr", rows)}
        # Metrics are a list of names, then all numbers row by row, rounded. The score is that of the source's dev set.
        _, _, below = page.inner_text("body").partition("Metrics\nShow diff only\n")
        lines = list(takewhile(lambda line: line[0].isalpha(), below.splitlines()))
        start = len(lines) + 3 * lines.index("dev/macro_f1/qel")
        means = below.splitlines()[start : start + 3]
        for config_id, name, score, params in configurations(pages):
            if config_id in best:
                column = best.index(config_id)
                assert table["Run Name:"][column] == name
                assert table["k"][column] == params["k"]
                assert float(means[column]) == pytest.approx(score, abs=0.00051)
        assert {"k", "score"} <= set(page.locator(".js-plotly-plot .axis-title").all_text_contents())


def test_the_second_address_selects_the_replicates_for_a_box_plot(browser, shown):
    _, link = shown[1].values()
    with browser.page() as (page, _):
        page.goto(link)
        page.wait_for_selector("text=Run details")
        page.get_by_role("tab", name="Box Plot").click()
        for axis, value in (("x", "configuration"), ("y", "score")):
            page.locator(f"#{axis}-axis-selector").click()
            page.get_by_role("option", name=value, exact=True).click()
        page.wait_for_selector(".js-plotly-plot .boxlayer")
        assert page.locator(".js-plotly-plot .boxlayer path.box").count() == 3
