"""Plans of landscapes and requests for them, without Ray: what may start when, and one line for each mistake."""

import errno
import functools
import io
import json
import os
from types import SimpleNamespace

import numpy as np
import pytest
import ray
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from seedwise import yaml12
from seedwise.errors import RequestError, SearchError
from seedwise.search.decide.landscape_plan import Plan
from seedwise.search.decide.next_run import next_run
from seedwise.search.decide.policy import FromPlan, Stop, Wait, WholeDeviceRetries
from seedwise.search.execution.products import Products
from seedwise.search.export.rerun import rerun_specification
from seedwise.search.ledger.state import DONE, PLANNED, State
from seedwise.search.spec.load import from_dict
from seedwise.search.spec.load import read as read_specification
from seedwise.search.studies.landscape_request import exported, landscape_specification
from seedwise.search.studies.study import Landscape
from seedwise.spaces import config_id, load
from seedwise.trainables.landscape.jobs import BOTH, INITIAL, LINE, SEEDS, SOURCE, TRAIN

ONE = "enqueue=[{k: 10, weighting: softmax, tau: 0.1}]"


def plan(name="demo", **options):
    return _plan(name, json.dumps(options))


@functools.cache  # a plan never changes
def _plan(name, options):
    options = {"replicates": 2, "directions": 1, "parts": ["all"], "plane": {"replicates": 0}} | json.loads(options)
    return Plan.of(landscape_specification(name, None, options, [ONE] if name == "demo" else []))


def begun():
    state = State()
    state.apply({"event": "search", "search_id": "x", "specification": {"landscape": {}}, "time": 0.0})
    return state


def start(state, given):
    for event in next_run(state, Always(given), None).events:
        state.apply({**event, "time": 1.0})


class Always:
    def __init__(self, action):
        self.action = action

    def next_action(self, state, *, more=True):
        return self.action


def end(state, given, status=DONE, **metrics):
    about = {"config_id": given.config_id, "replicate": given.replicate, "time": 2.0}
    state.apply({"event": "result", **about, "phase": PLANNED, "status": status, "metrics": metrics, "seconds": 1.0})


def job_of(given):
    return given.params["landscape"], given.params.get("on"), given.params.get("target", ""), given.replicate


@settings(max_examples=25)
@given(st.integers(1, 5), st.randoms(use_true_random=False), st.sampled_from(["demo", "demo-ear"]))
def test_in_any_order_of_results_every_run_starts_after_its_models_and_runs_once(slots, random, name):
    made, state, running, done = plan(name), begun(), [], []
    names = {planned.name: planned for planned in made.runs}
    while True:
        action = made.next_action(state)
        if isinstance(action, FromPlan) and len(running) < slots:
            key = f"{action.config_id}-{action.replicate}"
            assert {planned.name for planned in made.models(names[key])} <= set(done)
            start(state, action)
            running.append(action)
            continue
        if not running:
            break
        given = running.pop(random.randrange(len(running)))
        end(state, given)
        done.append(f"{given.config_id}-{given.replicate}")
    assert action == Stop("all points are evaluated")
    assert sorted(done) == sorted(names)


def test_a_free_worker_waits_while_no_run_is_ready():
    made, state = plan("demo-ear"), begun()
    initial = [made.next_action(state)]
    start(state, initial[0])
    initial.append(made.next_action(state))
    start(state, initial[1])
    assert made.next_action(state) == Wait()
    assert next_run(state, made, None) == next_run(state, Always(Wait()), None)
    end(state, initial[1])
    assert job_of(made.next_action(state)) == (TRAIN, SOURCE, "", 1)


def test_only_runs_that_need_a_failed_model_are_skipped():
    made, state = plan(), begun()
    while isinstance(action := made.next_action(state), FromPlan):
        start(state, action)
        failed = job_of(action) == (TRAIN, SOURCE, "qan", 0)
        end(state, action, "failed:nan" if failed else DONE)
    started = {
        job_of(FromPlan(key, n, "", configuration.params))
        for key, configuration in state.configurations.items()
        for n in configuration.runs
    }
    assert (LINE, SOURCE, "qan", 0) not in started
    assert (SEEDS, SOURCE, "qan", 0) not in started
    assert {(LINE, SOURCE, "qan", 1), (LINE, "target", "qan", 0), (LINE, SOURCE, "qor", 0)} <= started
    assert action == Stop("what is left needs models that failed")


def test_a_landscape_whose_trainings_all_failed_has_no_findings(tmp_path):
    specification = landscape_specification("demo-ear", None, {"replicates": 2})
    made, state, output = Plan.of(specification), State(), io.StringIO()
    state.apply({"event": "search", "search_id": "x", "specification": specification.as_dict(), "time": 0.0})
    while isinstance(action := made.next_action(state), FromPlan):
        start(state, action)
        end(state, action, DONE if job_of(action)[1] == INITIAL else "failed:nan", **{"dev/macro_f1/qel": 0.1})
    console = Console(file=output, width=500)
    landscape, results = Landscape(specification), SimpleNamespace(state=state)
    assert landscape.write(results, tmp_path, console) == {"files": ["landscape.json", "report.html"]}
    assert not landscape.show(results, tmp_path, console)
    assert "Failed and left out (10), such as train source, replicate 0: failed:nan" in output.getvalue()


def test_an_interrupted_run_goes_first_and_one_without_memory_is_left_to_a_whole_device():
    made, state = plan(), begun()
    first = made.next_action(state)
    start(state, first)
    state.apply({"event": "lost", "config_id": first.config_id, "replicate": 0, "because": "gone", "time": 2.0})
    again = made.next_action(state)
    assert (again.config_id, again.replicate, again.because) == (
        first.config_id,
        0,
        "it was running when the landscape stopped",
    )
    start(state, again)
    state.apply({"event": "wait", "config_id": first.config_id, "replicate": 0, "because": "full", "time": 3.0})
    while isinstance(action := made.next_action(state), FromPlan):
        start(state, action)
        end(state, action)
    assert isinstance(action, Stop)  # nothing runs: waiting would never end
    alone = WholeDeviceRetries(PLANNED).next_action(state)
    assert (alone.config_id, alone.phase) == (first.config_id, PLANNED)
    assert made.needs(state.configurations[first.config_id].runs[0]) == []


def test_all_initialisations_can_begin_at_once():
    assert plan("demo-ear").beginning(begun()) == 2
    assert plan("demo").beginning(begun()) == 4  # one for each language


def test_models_of_a_run_are_in_the_order_of_its_weights():
    made = plan("demo-ear", plane={"replicates": 1, "parts": ["all"]})
    names = {planned.name: (planned.job.on, planned.job.target, planned.replicate) for planned in made.trained.values()}
    for planned in made.runs:
        taken = [names[model.name] for model in made.models(planned)]
        assert all(model[1] == ("" if model[0] in (INITIAL, SOURCE) else planned.job.target) for model in taken)
        if planned.job.landscape == "plane":
            assert [model[0] for model in taken] == [BOTH, SOURCE, "target"]
        if planned.job.landscape == SEEDS:
            assert [model[2] for model in taken] == [planned.replicate, planned.job.other]


@pytest.mark.parametrize(
    ("name", "options", "overrides", "message"),
    [
        ("demo-dcca", {}, [], "landscape: dcca has no landscape. Choose one of stitching, ear."),
        (
            "demo",
            {"baseline": "plain"},
            [ONE],
            "landscape.baseline: plain: no baseline of stitching has a landscape.",
        ),
        (
            "demo-ear",
            {"baseline": "plane"},
            [],
            "landscape.baseline: plane: ear has no such baseline. Did you mean pl",
        ),
        (
            "demo-ear",
            {"match": "steps"},
            [],
            "landscape.match: 'steps' is wrong: input should be 'updates' or 'epochs'",
        ),
        ("demo-ear", {}, ["landscape.parts=[all, all]"], "landscape.parts: all, all: a part is listed twice."),
        ("demo-ear", {}, ["landscape.plane.parts=[body]"], "landscape.plane.parts.0: 'body' is wrong"),
        (
            "demo-ear",
            {},
            ["landscape.replicate=2"],
            "landscape.replicate: there is no such key. Did you mean replicates",
        ),
        ("demo-ear", {"replicates": 0}, [], "landscape.replicates: 0 is wrong"),
        (
            "demo-ear",
            {"replicates": 1, "labels": False, "directions": 0},
            [],
            "landscape.replicates: a single seed cannot be compared.",
        ),
        ("demo-ear", {}, ["landscape=null"], "landscape: None: write its keys, such as --set landscape.directions=0."),
        ("demo-ear", {}, ["select=3"], "select: 3 is wrong"),
        ("demo-ear", {}, ["enqueue={}"], "enqueue: {} is wrong: input should be a valid list."),
        ("demo-ears", {}, [], "demo-ears: no such file, and no built-in specification. Did you mean demo-ear?"),
    ],
)
def test_wrong_landscape_requests_are_one_line(name, options, overrides, message):
    with pytest.raises(RequestError) as caught:
        landscape_specification(name, None, options, overrides)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_landscape_uses_the_first_enqueued_configuration():
    specification = landscape_specification("demo", None, {}, ["enqueue=[{k: 7}, {k: 9}]"])
    assert [params["k"] for params in specification.enqueue] == [7]
    assert specification.name == "demo-landscape"
    assert Plan.of(specification).params["k"] == 7


def test_a_specification_may_request_a_landscape(tmp_path):
    content = yaml12.dump(landscape_specification("demo", None, {"replicates": 2}, [ONE]).as_dict())
    (tmp_path / "mine.yaml").write_text(content)
    again = landscape_specification(str(tmp_path / "mine.yaml"), None, {"match": "epochs"})
    assert (again.name, again.landscape.replicates, again.landscape.match) == ("demo-landscape", 2, "epochs")


@pytest.mark.parametrize(("name", "labels"), [("demo-ear", True), ("demo", False)])
def test_only_seeds_of_ear_can_be_compared_without_a_target(name, labels):
    with pytest.raises(RequestError, match=r"^task\.targets: no language is given\. Name the languages"):
        landscape_specification(name, None, {"labels": labels}, ["task.targets=[]"])


def test_a_baseline_takes_the_shared_options_of_the_configuration():
    specification = landscape_specification(
        "demo-ear", None, {"baseline": "plain"}, ["enqueue=[{lr: 0.005, layer: 2, epochs: 4}]"]
    )
    params = Plan.of(specification).params
    assert (params["baseline"], params["lr"], params["epochs"]) == ("plain", 0.005, 4)
    assert not {"layer", "alpha", "beta", "copies"} & params.keys()


def test_other_files_of_a_search_are_refused_as_exported_configurations(tmp_path):
    (tmp_path / "spec.yaml").write_text("name: x\nmethod: ear\n")
    assert exported(str(tmp_path / "spec.yaml")) is None
    (tmp_path / "best.yaml").write_text("config_id: abc\n")
    with pytest.raises(RequestError, match="not an exported configuration"):
        exported(str(tmp_path / "best.yaml"))


def test_runs_have_distinct_ids():
    ids = [(planned.config_id, planned.replicate) for planned in plan().runs]
    assert len(set(ids)) == len(ids)


def values(specification, name):
    return {params[name] for params in specification.parts.space.samples}


def test_only_the_layers_that_the_configuration_needs_are_checked():
    """The default space has layers up to 12; the made-up encoder has four."""
    specification = landscape_specification("demo-ear", None, {}, ["space=default", "enqueue=[{layer: 2}]"])
    assert values(specification, "layer") == {2}
    assert values(landscape_specification("demo", None, {}, [ONE]), "k") == {10}


def test_a_specification_with_a_landscape_has_nothing_that_only_a_search_has(tmp_path):
    """Written by hand: selection, confirmation and space are those of the original search."""
    given = ["enqueue=[{k: 5}]", "landscape={replicates: 2}", "select.on=target_dev", "select.metric=accuracy"]
    specification = read_specification("demo", given)
    assert (specification.select.on, specification.select.metric) == ("source_dev", "accuracy")
    assert not {"budget", "sampler", "replicates", "baselines", "prune", "decompose"} & set(specification.as_dict())
    assert values(specification, "k") == {5}
    assert specification.name == "demo"
    assert from_dict(specification.as_dict()).as_dict() == specification.as_dict()
    with pytest.raises(RequestError, match="landscape: 3 is wrong"):
        read_specification("demo", ["landscape=3"])
    with pytest.raises(RequestError, match=r"landscape.plane.replicates: 3, but there are 2. Write fewer\."):
        read_specification("demo", [*given, "landscape.plane.replicates=3"])


@pytest.mark.parametrize("weighting", ["standard", "softmax"])
def test_an_exported_configuration_includes_the_options_fixed_by_compat(weighting):
    space = load("stitching", "default", "paper")
    params = space.complete({"k": 10, "weighting": weighting})
    searched = read_specification("demo", ["compat=paper"]).as_dict() | {"compat": "paper"}
    content = {"name": "demo", "specification": searched, "params": params, "config_id": config_id(params)}
    content |= {"replicates": [{"replicate": 0}], "checksums": {}}
    specification = landscape_specification("best.yaml", content, {}, ["task.targets=[qan]", *ONE_TARGET])
    assert Plan.of(specification).params == params | {"freeze_embeddings": True}
    assert content["specification"]["task"]["targets"] == ["qan", "qor"]  # the exported configuration stays unchanged
    assert rerun_specification(content, 2).enqueue == [params]


ONE_TARGET = ["inputs.vectors={qan: 'world:vectors/qan.vec.gz'}", "inputs.lexicons={qan: 'world:lexicons/qel-qan.txt'}"]


def test_models_that_no_run_needs_any_more_are_released():
    made, state = plan("demo-ear"), begun()
    assert made.needed(state) == {planned.name for planned in made.trained.values()}
    done = set()
    while isinstance(action := made.next_action(state), FromPlan):
        start(state, action)
        end(state, action)
        done.add(f"{action.config_id}-{action.replicate}")
        left = [planned for planned in made.runs if planned.name not in done]
        assert made.needed(state) == {model.name for planned in left for model in made.models(planned)}
    assert made.needed(state) == set()


def test_models_are_released_when_their_runs_wait_for_a_failed_model():
    made, state = plan(), begun()
    names = {model: planned.name for model, planned in made.trained.items()}
    while isinstance(action := made.next_action(state), FromPlan):
        start(state, action)
        end(state, action, "failed:nan" if job_of(action)[1] in (BOTH, SOURCE) else DONE)
        if job_of(action) == (TRAIN, BOTH, "qor", 1):
            break
    assert not {name for model, name in names.items() if model.on in (INITIAL, SOURCE, BOTH)} & made.needed(state)
    assert {name for model, name in names.items() if model.on == "target"} == made.needed(
        state
    )  # needed by the runs around them


def test_products_enter_the_object_store_once_and_are_released_after_their_last_use(tmp_path, monkeypatch):
    monkeypatch.setattr(ray, "put", lambda value: object())
    products = Products(tmp_path)
    for name in ("a-0", "b-0"):
        products.save(name, {"x": np.arange(3.0)})
    first, second = products.share("a-0"), products.share("b-0")
    assert products.share("a-0") is first
    products.release({"b-0"})
    assert products.share("b-0") is second
    assert products.share("a-0") is not first


def test_a_product_is_written_completely_or_not_at_all_and_a_full_disk_is_a_clear_error(tmp_path, monkeypatch):
    products = Products(tmp_path / "models")
    products.save("a-0", {"x": np.arange(3.0), "y": np.arange(4.0).reshape(2, 2).T, "z": np.array(5.0)})
    arrays = {name: value.tolist() for name, value in products.load("a-0").items()}
    assert arrays == {"x": [0.0, 1.0, 2.0], "y": [[0.0, 2.0], [1.0, 3.0]], "z": 5.0}

    def full(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        products.save("b-0", {"x": np.arange(3.0)})
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["a-0.safetensors"]
    with pytest.raises(SearchError, match=r"b-0.safetensors: it is missing. Remaining runs need it"):
        products.load("b-0")
    products.path("c-0").write_bytes(b"torn")
    with pytest.raises(SearchError, match=r"c-0.safetensors: .* restore it"):
        products.load("c-0")
