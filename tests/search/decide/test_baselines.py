"""Baselines of a search: each runs once per replicate, is shown beside the ranking, and never competes."""

import io
from collections import Counter

import pytest
from rich.console import Console

from seedwise.search.decide.baselines import Baselines, allowances, total_runs
from seedwise.search.decide.next_run import freeze, next_run
from seedwise.search.decide.policy import Confirmation
from seedwise.search.ledger.state import CONFIRM, State, replay
from seedwise.search.ranking import leaderboard
from seedwise.search.ranking.baseline_scores import best_of_each
from seedwise.search.ranking.duplicates import duplicates
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.run_scores import scores_of
from seedwise.search.ranking.selection import Selection
from seedwise.search.report.table import as_table
from seedwise.search.spec.load import read, recorded
from seedwise.spaces import config_id
from tests.simulate import SELECTION, drive, engine
from tests.test_simulate import Hill

PLAIN, RIDGE = {"baseline": "ls", "map": "plain", "lr": 0.1}, {"baseline": "ls", "map": "ridge", "lr": 0.1}
WEAK, STRONG = ({"baseline": "zero_shot", "lr": lr} for lr in (0.1, 0.2))
LEVELS = {config_id(PLAIN): 5.0, config_id(RIDGE): 0.5, config_id(WEAK): 0.1, config_id(STRONG): 0.2}
BASELINES = Baselines("stitching", (PLAIN, RIDGE, WEAK, STRONG), 2)
KEYS = {"replicates": {"policy": "fixed", "n": 2, "confirm": {"top": 1, "fresh": 2}}, "runs": 12, "sampler": "random"}
SEARCH = {"event": "search", "time": 0.0, "specification": {"method": "stitching"}}


class Beside(Hill):
    """The hill, and baselines at fixed levels: the linear map is far above every configuration."""

    def score(self, params, replicate):
        if "baseline" in params:
            return LEVELS[config_id(params)] + 0.01 * replicate
        return super().score(params, replicate)


def searched(baselines, workers=3):
    """All events of a search with a confirmation."""
    policy, proposer = engine(Hill.space, **KEYS)
    state, events = State(), [{**SEARCH, "search_id": "simulated"}]
    state.apply(events[0])
    how = {"workers": workers, "seconds": lambda params, replicate: 60.0 + 7 * replicate}
    events += drive(Beside(), state, policy, proposer, baselines=baselines, **how)
    frozen = freeze(state, proposer.estimator, "over", 1) | {"time": state.last_time}
    state.apply(frozen)
    return [*events, frozen, *drive(Beside(), state, Confirmation(2), proposer, **how)]


@pytest.fixture(scope="module")
def events():
    return searched(BASELINES)


def test_every_baseline_runs_once_at_every_replicate_after_the_policy_has_stopped(events):
    state = replay(events)
    for configuration in state.configurations.values():
        if configuration.baseline:
            assert sorted(run.replicate for run in configuration.of_phase("search")) == [0, 1]
    starts = [(event["config_id"], event["replicate"]) for event in events if event["event"] == "start"]
    assert Counter(starts).most_common(1)[0][1] == 1
    assert [event["because"] for event in events if event["event"] == "baselines"] == [state.policy_stopped]
    first = next(i for i, event in enumerate(events) if event["event"] == "start" and event["config_id"] in LEVELS)
    search = [event for event in events[first:] if event["event"] == "start" and event["phase"] == "search"]
    assert {event["config_id"] for event in search} == set(LEVELS)


def test_the_search_decides_as_it_would_without_baselines(events):
    alone = searched(None)
    strip = lambda lines: [  # noqa: E731
        {key: value for key, value in event.items() if key not in ("time", "baselines", "because")}
        for event in lines
        if event["event"] != "baselines" and event.get("config_id") not in LEVELS
    ]
    assert strip(events) == strip(alone)
    estimator = engine(Hill.space, **KEYS)[1].estimator
    beside, without = (leaderboard.leaderboard(replay(lines), estimator) for lines in (events, alone))
    for row in (*beside, *without):  # intervals: the seeds of baselines do tell how much seeds differ
        fresh = row["fresh"] or {"scores": {}}
        for part in (row, fresh, *(cell for cells in fresh["scores"].values() for cell in cells.values())):
            part.pop("ci_low", None)
            part.pop("ci_high", None)
    assert [row for row in beside if not row["baseline"]] == without


def test_the_ledger_cut_after_every_line_gives_the_same_next_run(events):
    policy, proposer = engine(Hill.space, **KEYS)
    freezes = next(i for i, event in enumerate(events) if event["event"] == "freeze")
    checked = 0
    for index, event in enumerate(events):
        before = events[index - 1] if index else {}
        if event["event"] != "start" or before.get("event") in ("ask", "baselines"):
            continue
        confirming = index > freezes
        decision = next_run(
            replay(events[:index]),
            Confirmation(2) if confirming else policy,
            proposer,
            None if confirming else BASELINES,
        )
        assert decision.events[-1] | {"time": event["time"]} == event
        checked += 1
    assert checked > 15
    # Cut between the line that says why the policy stopped and the first baseline: no second line of that kind.
    cut = next(i for i, event in enumerate(events) if event["event"] == "baselines")
    assert [event["event"] for event in next_run(replay(events[: cut + 1]), policy, proposer, BASELINES).events] == [
        "ask",
        "start",
    ]


def test_interrupted_runs_are_repeated_first(events):
    """Runs of the method among them, although its policy had stopped when the first baseline was started."""
    policy, proposer = engine(Hill.space, **KEYS)
    cut = next(i for i, event in enumerate(events) if event["event"] == "start" and event["config_id"] in LEVELS)
    lines = [*events[: cut + 1], {"event": "search", "time": 1e6}]
    lost = {(run.config_id, run.replicate) for run in replay(lines).runs() if run.status == "interrupted"}
    assert len(lost) == 3
    assert len({key for key, _ in lost} - set(LEVELS)) >= 1
    again = set()
    for _ in lost:
        decision = next_run(replay(lines), policy, proposer, BASELINES)
        again.add((decision.run.config_id, decision.run.replicate))
        lines += decision.events
    assert again == lost


def test_the_best_of_each_kind_is_confirmed_and_none_is_chosen(events):
    state = replay(events)
    assert set(state.frozen_baselines) == {config_id(PLAIN), config_id(RIDGE), config_id(STRONG)}
    assert not set(state.frozen) & set(LEVELS)
    for chosen in state.frozen_baselines:
        assert [run.replicate for run in state.configurations[chosen].of_phase(CONFIRM)] == [1000, 1001]
    estimator = Estimator(SELECTION)
    rows = leaderboard.leaderboard(state, estimator)
    marked = [row for row in rows if row["baseline"]]
    assert {row["baseline"] for row in marked} == {"LS plain", "LS ridge", "zero-shot"}
    assert rows[-len(marked) :] == marked  # last, whatever its score
    assert all(row["p_best"] == 0 and not row["tied"] and row["estimate"] is None for row in marked)
    by_id = {row["config_id"]: row for row in marked}
    assert by_id[config_id(PLAIN)]["mean"] == pytest.approx(5.005)
    assert by_id[config_id(PLAIN)]["fresh"]["mean"] == pytest.approx(5.0 + 10.005)
    assert by_id[config_id(WEAK)]["fresh"] is None


def test_a_table_shows_the_best_of_each_kind_below_the_configurations(events):
    console = Console(width=120, file=io.StringIO())
    console.print(as_table(leaderboard.leaderboard(replay(events), Estimator(SELECTION)), SELECTION, width=120))
    lines = console.file.getvalue().splitlines()
    shown = [line for line in lines if "baseline: " in line]
    for line, kind in zip(shown, ("LS plain", "LS ridge", "zero-shot"), strict=True):
        assert f"baseline: {kind} " in line
    assert config_id(STRONG) in shown[-1]
    assert max(lines.index(line) for line in lines if "x=" in line) < lines.index(shown[0])


def test_a_baseline_that_has_no_source_score_is_judged_by_target_dev():
    selection = Selection("macro_f1", "source_dev", "mean", "s", ("a",))
    state = State()
    state.apply(SEARCH)
    for c, score in ((0.1, 0.4), (1.0, 0.6), (10.0, 0.5)):
        params = {"baseline": "lr", "c": c}
        run = {"config_id": config_id(params), "replicate": 0, "phase": "search"}
        state.apply({"event": "ask", "config_id": config_id(params), "params": params, "ask": -1})
        state.apply({"event": "start", **run})
        metrics = {"dev/macro_f1/a": score}
        state.apply({"event": "result", **run, "status": "done", "metrics": metrics, "seconds": 1.0})
    assert best_of_each(state, selection) == [config_id({"baseline": "lr", "c": 1.0})]
    run = {"config_id": "own", "replicate": 0, "phase": "search"}
    state.apply({"event": "ask", "config_id": "own", "params": {"k": 1}, "ask": 0})
    state.apply({"event": "start", **run})
    metrics = {"dev/macro_f1/a": 0.3, "dev/macro_f1/s": 0.5}
    state.apply({"event": "result", **run, "status": "done", "metrics": metrics, "seconds": 1.0})
    first, row, *_ = leaderboard.leaderboard(state, Estimator(selection))
    assert first["config_id"] == "own"
    assert row["baseline"] == "LR (target labels)"
    assert row["mean"] is None
    assert row["scores"]["dev/macro_f1"]["a"]["mean"] == 0.6


def test_the_number_of_runs_is_known_before_and_after_the_freeze(events):
    specification = read("demo", ["baselines=[ls, constant]", "budget.runs=20"])
    baselines, confirm = specification.parts.baselines, specification.replicates.confirm
    policy = engine(Hill.space, **KEYS)[0]  # 12 runs, 4 of them for the confirmation
    # At the demo's single learning rate: three maps and the constant, at 2 replicates; four kinds at 3 fresh.
    assert total_runs(policy, baselines, confirm, State()) == 12 + 2 * 4 + 3 * 4
    frozen = replay(events)
    assert total_runs(policy, baselines, confirm, frozen) == sum(1 for _ in frozen.runs_of("search")) + 3 * (1 + 3)


def test_what_each_baseline_is_allowed_is_said_in_a_line():
    changes = ["space.epochs=[1, 5]", "space.copies=[1, 3]", "space.lr=[1e-4, 1e-2]", "budget.runs=40"]
    parts = read("demo-ear", [*changes, "baselines={plain: {}, rs_rp: {lr: 1e-3}}"]).parts
    assert allowances(parts.baselines, parts.policy, parts.space) == [
        "plain: 9 configurations (lr 0.0001, 0.001, 0.01; epochs 1, 5, 30), 2 replicates each",
        "RS-RP: 5 configurations (lr 0.001; epochs 1, 5, 30; radius 0.03, 0.1, 0.3), 2 replicates each",
        f"the method: {parts.policy.in_words()}; lr 0.0001 to 0.01; epochs 1 to 5",
    ]
    parts = read("demo", ["baselines=[constant]", "replicates={policy: fixed, n: 1}"]).parts
    assert allowances(parts.baselines, parts.policy, parts.space) == [
        "constant: 1 configuration, 1 replicate each",
        f"the method: {parts.policy.in_words()}; lr 0.002; epochs 6",
    ]


def test_a_search_of_an_earlier_version_goes_on_with_the_baselines_it_had():
    """Its ledger has no word on lengths; at that time there was one."""
    changes = ["baselines=[plain]", "space.epochs=[1, 5]", "space.copies=[1, 3]", "space.lr=[1e-4, 1e-2]"]
    earlier = read("demo-ear", changes).as_dict()
    del earlier["baseline_lengths"]
    resumed = recorded(replay([{"event": "search", "specification": earlier}]))
    found = [(params["lr"], params["epochs"]) for params in resumed.parts.baselines.configurations]
    assert found == [(1e-4, 30), (1e-3, 30), (1e-2, 30)]
    assert len(read("demo-ear", changes).parts.baselines.configurations) == 9
    without = {**earlier, "baselines": {}}
    assert recorded(replay([{"event": "search", "specification": without}])).baseline_lengths == "grid"


def test_a_baseline_is_not_better_for_failing():
    """One lucky seed and two failures do not beat three solid seeds."""
    state = State()
    state.apply(SEARCH)
    for lr, runs in ((0.1, [0.5, None, 0.1]), (0.2, [0.45, 0.45, 0.45])):
        params = {"baseline": "zero_shot", "lr": lr}
        state.apply({"event": "ask", "config_id": config_id(params), "params": params, "ask": -1})
        for replicate, score in enumerate(runs):
            run = {"config_id": config_id(params), "replicate": replicate, "phase": "search"}
            ended = {"status": "done" if score == max(filter(None, runs)) else "failed:nan", "seconds": 1.0}
            state.apply({"event": "start", **run})
            state.apply({"event": "result", **run, **ended, "metrics": {"value": score} if score else {}})
    assert best_of_each(state, SELECTION) == [config_id({"baseline": "zero_shot", "lr": 0.2})]
    lucky = config_id({"baseline": "zero_shot", "lr": 0.1})
    assert scores_of(state, SELECTION)[lucky] == {0: 0.5, 1: 0.0, 2: 0.0}  # 0.1 - (0.5 - 0.1) is below 0


def test_configurations_that_do_the_same_work_are_confirmed_once():
    lines = [SEARCH]
    marks = {"a": ("m0", "m1"), "b": ("m0", "other"), "c": ("m0", "m1"), "d": ("", "")}
    for ask, (name, fingerprints) in enumerate(marks.items()):
        lines.append({"event": "ask", "config_id": name, "params": {"x": ask}, "ask": ask})
        for replicate, fingerprint in enumerate(fingerprints):
            run = {"config_id": name, "replicate": replicate, "phase": "search"}
            result = {"status": "done", "metrics": {"value": 0.9 - 0.1 * ask}, "seconds": 1.0}
            lines += [{"event": "start", **run}, {"event": "result", **run, **result, "fingerprint": fingerprint}]
    state = replay(lines)
    assert duplicates(state, ["a", "b", "c", "d"]) == {"c": "a"}  # b differs from a at its second replicate
    assert freeze(state, Estimator(SELECTION), "over", 4)["configs"] == ["a", "b", "d"]
    rows = leaderboard.leaderboard(state, Estimator(SELECTION))
    assert {row["config_id"]: row["same_as"] for row in rows} == {"a": "", "b": "", "c": "a", "d": ""}
