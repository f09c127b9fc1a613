"""Scores updated result by result equal scores computed at once."""

import pytest

from seedwise.search.ledger.state import CONFIRM, SEARCH, State
from seedwise.search.ranking.baseline_scores import scores_of
from seedwise.search.ranking.estimate import summary
from seedwise.search.ranking.selection import Selection
from seedwise.search.tracking.scores import Scores
from tests.search.hand_written import HandWritten, metrics, specification
from tests.search.tracking.random_ledgers import RandomLedger


@pytest.mark.parametrize("seed", range(40))
def test_after_every_result_scores_changes_and_the_best_are_those_of_everything_at_once(seed):
    """Exactly the configurations whose scores changed are returned."""
    selection, state = Selection.from_specification(specification()), State()
    scores, before = Scores(state, selection), {}
    for event in RandomLedger(seed).events:
        state.apply(event)
        if event["event"] != "result":
            continue
        changed = scores.add(state.configurations[event["config_id"]].runs[event["replicate"]])
        search, fresh = (
            selection.scores(state, phase) | scores_of(state, selection, phase) for phase in (SEARCH, CONFIRM)
        )
        now = {
            config_id: (search.get(config_id, {}), fresh.get(config_id, {}))
            for config_id in search.keys() | fresh.keys()
        }
        assert {config_id: rows for config_id, rows in scores.rows.items() if any(rows)} == now
        assert changed == sorted(config_id for config_id in now if now[config_id] != before.get(config_id))
        assert scores.count == sum(map(len, search.values()))
        own = {config_id: summary(list(row.values())) for config_id, row in search.items() if config_id.startswith("c")}
        assert scores.summaries == own
        if own:
            assert scores.best == min(own, key=lambda config_id: (-own[config_id].mean, config_id))
        before = now


def test_a_result_touches_its_own_configuration_and_a_new_lowest_one_those_with_failed_runs(monkeypatch):
    search, touched = HandWritten(specification()), []
    for number in range(50):
        search.ask(f"c{number:02}", k=number + 1, weighting="standard")
        search.run(f"c{number:02}", 0, metrics("dev", 0.5 + number / 100, 0.6, 0.5) if number % 10 else None)
    search.run("c01", 1, metrics("dev", 0.9, 0.6, 0.5))
    search.run("c02", 1, metrics("dev", 0.1, 0.6, 0.5))
    update = Scores._update
    monkeypatch.setattr(
        Scores,
        "_update",
        lambda self, configuration: touched.append(configuration.config_id) or update(self, configuration),
    )
    state = State()
    scores, counts = Scores(state, Selection.from_specification(search.resolved)), []
    for event in search.events:
        state.apply(event)
        if event["event"] == "result":
            scores.add(state.configurations[event["config_id"]].runs[event["replicate"]])
            counts.append(len(touched))
            touched.clear()
    failed = {"c00", "c10", "c20", "c30", "c40"}
    assert counts == [1, 2, *[1] * 48, 1, 1 + len(failed)]
