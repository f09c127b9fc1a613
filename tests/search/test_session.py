"""Lines of the ledger about runs that lose their worker, wait or are stopped: decisions and a session without Ray."""

import sys
from types import SimpleNamespace

import pytest

from search.alone import Alone
from search.baselines import Baselines
from search.cluster import own_code
from search.decide import next_run
from search.ledger import INTERRUPTED, WAITING, read, replay
from search.policy import Fixed, Stop
from search.selection import Selection
from search.standing import Standing
from tests.search.test_pictures import session_of

STANDING = Standing(Selection("value", "metric", "mean", "", ()))
BEGUN = [
    {"event": "search", "search_id": "x"},
    {"event": "ask", "config_id": "a", "params": {"x": 1}, "ask": 0},
    {"event": "start", "config_id": "a", "replicate": 0, "phase": "search"},
]
RUN = {"config_id": "a", "replicate": 0}


def events(session, kind):
    return [line for line in (session.ledger.path).read_text().splitlines() if f'"event": "{kind}"' in line]


def test_a_run_that_is_lost_while_the_search_stops_was_not_its_own_fault(tmp_path):
    """Slurm and systemd send the signal to all processes: three such stops must not make a failure of a run."""
    session = session_of(tmp_path)
    session.start_next("trial")
    session.leave(20.0)
    session.record_loss("trial")
    assert not session.in_flight
    assert not events(session, "lost")
    assert session.start_next("another") is None
    session.ledger.close()
    assert [run.status for run in read(tmp_path / "ledger.jsonl").runs()] == [INTERRUPTED]


@pytest.mark.parametrize(("heard", "stops"), [(False, False), (True, True)])
def test_a_step_from_before_the_worker_heard_of_the_stop_does_not_end_its_run(tmp_path, heard, stops):
    session = session_of(tmp_path)
    session.start_next("trial")
    session.leave(20.0)
    step = {"epoch": 1, "epochs": 3, "metrics/value": 0.5, "state": None, "leaving": heard}
    assert session.record_step("trial", step) is stops


def test_a_run_out_of_memory_waits_once_and_its_second_end_counts(tmp_path):
    session = session_of(tmp_path)
    full = {"status": "failed:oom", "epoch": 1, "epochs": 3, "seconds": 1.0, "error": "no room"}
    session.start_next("trial")
    session.record_result("trial", full)
    (run,) = session.ledger.state.runs()
    assert (run.status, run.alone, run.finished) == (WAITING, True, False)
    session.policy = Alone("confirm")
    assert session.start_next("again")["config_id"] == run.config_id
    session.record_result("again", full)
    (run,) = session.ledger.state.runs()
    assert (run.status, run.alone) == ("failed:oom", True)
    assert isinstance(session.policy.next_action(session.ledger.state), Stop)


def test_pictures_that_cannot_be_written_cost_no_run(tmp_path, capfd):
    session = session_of(tmp_path)
    (tmp_path / "pictures").write_text("where a folder should be")
    session.start_next("trial")
    done = {"status": "done", "epoch": 1, "epochs": 1, "seconds": 1.0, "error": "", "metrics/value": 0.5}
    session.record_result("trial", done | {"pictures": "[]"})
    assert [run.status for run in session.ledger.state.runs()] == ["done"]
    assert "were not kept" in capfd.readouterr().out


def test_waiting_runs_are_pending_for_policies_and_outlive_a_restart():
    waits = [*BEGUN, {"event": "wait", **RUN, "because": "no room"}]
    lost_alone = [*waits, BEGUN[2], {"event": "lost", **RUN, "because": "its worker process died", "node": "n"}]
    for lines in (waits, [*waits, BEGUN[0]], [*waits, BEGUN[2], BEGUN[0]], lost_alone):
        state = replay(lines)
        assert [run.status for run in state.runs()] == [WAITING]
        assert isinstance(Fixed(standing=STANDING, n=1, runs=1).next_action(state), Stop)
        assert Alone("search").next_action(state).config_id == "a"
        assert isinstance(Alone("confirm").next_action(state), Stop)
    assert [run.losses for run in replay(lost_alone).runs()] == [(("its worker process died", "n"),)]


def test_baselines_begin_when_nothing_waits_that_could_still_decide_something():
    policy, baselines = Fixed(standing=STANDING, n=1, runs=1), Baselines(({"baseline": "ls"},), 1)
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
    found = own_code()
    for name in ("my_own_method", "my_own_helpers", "my_own_helpers.things", "not_ours"):
        sys.modules.pop(name)
    assert {str(tmp_path / "my_own_method.py"), str(tmp_path / "my_own_helpers")} <= set(found)
    assert not [path for path in found if "site-packages" in path]
    assert {path.rpartition("/")[2] for path in found} >= {"search", "spaces", "trainables"}
