"""Lines of the ledger about runs that lose their worker, wait or are stopped: decisions and a session without Ray."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import ray
from ray.exceptions import GetTimeoutError, RayActorError

from seedwise.errors import SearchError
from seedwise.search.cluster.code import own_code
from seedwise.search.decide.baselines import Baselines
from seedwise.search.decide.next_run import Dependencies, next_run
from seedwise.search.decide.policy import Fixed, Stop, WholeDeviceRetries
from seedwise.search.execution.messages import StepReport
from seedwise.search.execution.products import Products
from seedwise.search.execution.worker_loss import Loss, lacks_module
from seedwise.search.ledger.file import read
from seedwise.search.ledger.state import INTERRUPTED, WAITING, replay
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.selection import Selection
from tests.conftest import ROOT
from tests.search.drawing.test_svg import session_of

ESTIMATOR = Estimator(Selection("value", "metric", "mean", "", ()))
BEGUN = [
    {"event": "search", "search_id": "x"},
    {"event": "ask", "config_id": "a", "params": {"x": 1}, "ask": 0},
    {"event": "start", "config_id": "a", "replicate": 0, "phase": "search"},
]
RUN = {"config_id": "a", "replicate": 0}


def events(session, kind):
    return [line for line in (session.ledger.path).read_text().splitlines() if f'"event": "{kind}"' in line]


def test_a_run_lost_during_shutdown_is_not_a_failure(tmp_path):
    """Slurm and systemd signal all processes: three such stops must not fail a run."""
    session = session_of(tmp_path)
    session.start_next("trial")
    session.shutdown.request()
    session.record_loss("trial")
    assert not session.runs.by_trial
    assert not events(session, "lost")
    assert session.start_next("another") is None
    session.ledger.close()
    assert [run.status for run in read(tmp_path / "ledger.jsonl").runs()] == [INTERRUPTED]


@pytest.mark.parametrize(("heard", "stops"), [(False, False), (True, True)])
def test_a_step_from_before_the_worker_heard_of_the_stop_does_not_end_its_run(tmp_path, heard, stops):
    session = session_of(tmp_path)
    session.start_next("trial")
    session.shutdown.request()
    step = StepReport(epoch=1, epochs=3, metrics={"value": 0.5}, stopping=heard)
    assert session.record_step("trial", step) is stops


@pytest.mark.parametrize(("total", "reserved", "workers"), [(None, 0, 4), (9, 2, 4), (5, 2, 3), (3, 2, 1), (2, 2, 1)])
def test_no_run_of_the_search_waits_for_workers_of_the_confirmation(tmp_path, total, reserved, workers):
    """First runs begin together: the last run of a phase would wait forever for a second worker."""
    session = session_of(tmp_path)
    session.slots.now = lambda: 4
    session.decisions.total, session.decisions.reserved = total, reserved
    assert session.start_next("trial").workers == workers


def test_workers_that_cannot_start_after_a_resume_stop_the_search_whatever_succeeded_before(tmp_path, monkeypatch):
    monkeypatch.setattr("seedwise.search.execution.session.nodes_now", list)
    session = session_of(tmp_path)
    before = {"config_id": "a", "replicate": 1000, "phase": "confirm"}
    session.ledger.append({"event": "start", **before})
    session.ledger.append({"event": "result", **before, "status": "done", "metrics": {"value": 0.5}, "seconds": 1.0})
    session.ledger.append({"event": "search", "search_id": "x"})
    session.ledger.state.search["folder"] = "here"
    session.start_next("trial")
    session.runs.by_trial["trial"].lost = Loss.before_start("ModuleNotFoundError: No module named 'x'")
    session.record_loss("trial")
    with pytest.raises(SearchError, match="no run can start: ModuleNotFoundError: No module named 'x'"):
        session.on_turn()
    assert not events(session, "lost")


def test_a_run_out_of_memory_is_retried_once(tmp_path):
    session = session_of(tmp_path)
    full = StepReport(status="failed:oom", epoch=1, epochs=3, seconds=1.0, error="no room", done=True)
    session.start_next("trial")
    session.record_result("trial", full)
    (run,) = session.ledger.state.runs()
    assert (run.status, run.alone, run.finished) == (WAITING, True, False)
    session.decisions.policy = WholeDeviceRetries("confirm")
    assert session.start_next("again").config_id == run.config_id
    session.record_result("again", full)
    (run,) = session.ledger.state.runs()
    assert (run.status, run.alone) == ("failed:oom", True)
    assert isinstance(session.decisions.policy.next_action(session.ledger.state), Stop)


def test_pictures_that_cannot_be_written_cost_no_run(tmp_path, capfd):
    session = session_of(tmp_path)
    (tmp_path / "pictures").write_text("where a folder should be")
    session.start_next("trial")
    session.record_result("trial", replace(FINE, pictures="[]"))
    assert [run.status for run in session.ledger.state.runs()] == ["done"]
    assert "could not be saved" in capfd.readouterr().out


FINE = StepReport(epoch=1, epochs=1, seconds=1.0, metrics={"value": 0.5}, done=True)
PRODUCED = replace(FINE, has_product=True)


def trial_of(trial_id, actor):
    return SimpleNamespace(trial_id=trial_id, temporary_state=SimpleNamespace(ray_actor=actor))


def produced(folder, answer, monkeypatch):
    """A session with a run that leaves a product: `answer` is the product, or the error instead."""

    def get(ref, timeout):
        assert timeout == session.runs.silence
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(ray, "get", get)
    session = session_of(folder)
    session.files = replace(session.files, products=Products(folder / "models"))
    session.start_next("trial")
    actor = SimpleNamespace(take_output=SimpleNamespace(remote=lambda: "ref"))
    session.runs.begin(trial_of("trial", actor))  # it starts from nothing, and its worker is not asked
    return session


def test_a_product_is_on_disk_before_the_line_that_others_start_by(tmp_path, monkeypatch):
    session = produced(tmp_path, {"x": np.arange(3.0)}, monkeypatch)
    session.view.result = lambda run: files.append([path.name for path in (tmp_path / "models").iterdir()])
    files = []
    session.record_result("trial", PRODUCED)
    assert [run.status for run in session.ledger.state.runs()] == ["done"]
    assert files == [["a-1000.safetensors"]]


@pytest.mark.parametrize("error", [RayActorError(), GetTimeoutError(), ConnectionError("gone")])
def test_a_run_whose_worker_dies_before_its_product_is_fetched_has_no_result(tmp_path, monkeypatch, error):
    monkeypatch.setattr("seedwise.search.execution.coordination.node_of", lambda *names: "n")
    monkeypatch.setattr("seedwise.search.execution.session.nodes_now", list)
    session = produced(tmp_path, error, monkeypatch)
    session.record_result("trial", PRODUCED)
    assert not session.runs.by_trial
    assert [run.status for run in session.ledger.state.runs()] == [INTERRUPTED]
    assert not events(session, "result")
    (line,) = events(session, "lost")
    assert f"its product could not be fetched: {type(error).__name__}" in line


def test_where_a_product_cannot_be_written_the_search_says_so_and_no_result_stands(tmp_path, monkeypatch):
    session = produced(tmp_path, {"x": np.arange(3.0)}, monkeypatch)
    (tmp_path / "models").write_text("where a folder should be")
    session.record_result("trial", PRODUCED)
    assert not events(session, "result")
    with pytest.raises(SearchError, match=r"models: File exists\. Make room there, then: \S*seedwise resume"):
        session.on_turn()
    assert session.start_next("another") is None


def test_a_worker_gets_the_checkpoint_and_the_products_of_a_run_before_its_first_step(tmp_path, monkeypatch):
    """They go to its worker and not into its configuration, which Tune keeps in memory."""
    monkeypatch.setattr(ray, "put", lambda value: ("put", value))
    session, received = produced(tmp_path, None, monkeypatch), []
    monkeypatch.setattr(Dependencies, "needs", lambda self, run: ["b-0"])
    session.files.products.save("b-0", {"x": np.arange(2.0)})
    session.files.checkpoints.save("a-1001", b"state")
    order = session.start_next("next")
    assert (order.replicate, order.products, "checkpoint" in order.as_dict()) == (1001, 1, False)
    actor = SimpleNamespace(set_inputs=SimpleNamespace(remote=lambda *given: received.extend(given)))
    session.runs.begin(trial_of("next", actor))
    checkpoint, (_, product) = received
    assert checkpoint == ("put", b"state")
    assert product["x"].tolist() == [0.0, 1.0]
    flight = session.runs.by_trial["next"]
    assert (flight.checkpoint, flight.products) == (None, ())


def test_a_checkpoint_that_cannot_be_fetched_leaves_the_older_one(tmp_path, monkeypatch, capfd):
    session = produced(tmp_path, GetTimeoutError(), monkeypatch)
    session.files.checkpoints.save("a-1000", b"older")
    step = StepReport(epoch=1, epochs=3, metrics={"value": 0.5}, has_checkpoint=True)
    assert session.record_step("trial", step) is False
    assert session.files.checkpoints.load("a-1000") == b"older"
    assert "the checkpoint of a-1000 could not be saved: GetTimeoutError" in capfd.readouterr().out


def test_waiting_runs_are_pending_for_policies_and_outlive_a_restart():
    waits = [*BEGUN, {"event": "wait", **RUN, "because": "no room"}]
    lost_alone = [*waits, BEGUN[2], {"event": "lost", **RUN, "because": "its worker process died", "node": "n"}]
    for lines in (waits, [*waits, BEGUN[0]], [*waits, BEGUN[2], BEGUN[0]], lost_alone):
        state = replay(lines)
        assert [run.status for run in state.runs()] == [WAITING]
        assert isinstance(Fixed(estimator=ESTIMATOR, n=1, runs=1).next_action(state), Stop)
        assert WholeDeviceRetries("search").next_action(state).config_id == "a"
        assert isinstance(WholeDeviceRetries("confirm").next_action(state), Stop)
    assert [run.losses for run in replay(lost_alone).runs()] == [(("its worker process died", "n"),)]


def test_baselines_begin_when_nothing_waits_that_could_still_decide_something():
    policy, baselines = Fixed(estimator=ESTIMATOR, n=1, runs=1), Baselines("stitching", ({"baseline": "ls"},), 1)
    proposer = SimpleNamespace(propose=None)
    waits = [*BEGUN, {"event": "wait", **RUN, "because": "no room"}]
    assert next_run(replay(waits), policy, proposer, baselines).events == []
    ended = {"event": "result", **RUN, "phase": "search", "status": "done", "metrics": {}, "seconds": 1.0}
    then = next_run(replay([*waits, BEGUN[2], ended]), policy, proposer, baselines)
    assert [event["event"] for event in then.events] == ["baselines", "ask", "start"]


def test_code_that_is_imported_and_not_installed_goes_along(tmp_path, monkeypatch):
    (tmp_path / "my_own_method.py").write_text("import my_own_helpers.things\n")
    (tmp_path / "my_own_helpers").mkdir()
    (tmp_path / "my_own_helpers" / "things.py").write_text("")
    (tmp_path / "site-packages" / "not_ours").mkdir(parents=True)
    (tmp_path / "site-packages" / "not_ours" / "__init__.py").write_text("")
    for folder in (tmp_path, tmp_path / "site-packages"):
        monkeypatch.syspath_prepend(str(folder))
    for name in ("my_own_method", "not_ours"):
        __import__(name)
    paths = own_code()
    for name in ("my_own_method", "my_own_helpers", "my_own_helpers.things", "not_ours"):
        sys.modules.pop(name)
    assert {tmp_path / "my_own_method.py", tmp_path / "my_own_helpers"} <= set(paths)
    assert not [path for path in paths if "site-packages" in path.parts]


@pytest.mark.parametrize(
    ("error", "lacks"),
    [
        ("ModuleNotFoundError: No module named 'nobody_has_this'", True),
        ("ModuleNotFoundError: No module named 'nobody_has_this.part'", True),
        ("ModuleNotFoundError: No module named 'json'", False),
        ("ModuleNotFoundError: No module named '__main__'", False),  # to look for it raises ValueError
        ("ModuleNotFoundError: No module named 'search.errors'; 'search' is not a package", False),  # our own error
        ("ValueError: No module named 'nobody_has_this'", False),
    ],
)
def test_a_module_that_cannot_be_looked_for_is_not_called_missing(error, lacks, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)  # where `search` refuses to be imported
    assert lacks_module(error) is lacks
