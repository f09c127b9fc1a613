"""Scores updated result by result equal scores computed at once."""

import numpy as np
import pytest

from seedwise.search.ledger.state import CONFIRM, SEARCH, State
from seedwise.search.ranking.run_scores import scores_of
from seedwise.search.ranking.selection import Selection
from seedwise.search.ranking.summary import summary
from seedwise.search.tracking.mirror import Mirror
from seedwise.search.tracking.scores import Scores
from seedwise.search.tracking.sink import TOP
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
        search, fresh = (scores_of(state, selection, phase) for phase in (SEARCH, CONFIRM))
        now = {key: (search.get(key, {}), fresh.get(key, {})) for key in search.keys() | fresh.keys()}
        assert {key: rows for key, rows in scores.rows.items() if any(rows)} == now
        assert changed == sorted(key for key in now if now[key] != before.get(key))
        assert scores.count == sum(map(len, search.values()))
        known = {key: [score for score in row.values() if score is not None] for key, row in search.items()}
        own = {key: summary(values) for key, values in known.items() if values and key.startswith("c")}
        assert scores.summaries == own
        if own:
            assert scores.best == min(own, key=lambda config_id: (-own[config_id].mean, config_id))
        before = now


def test_a_result_touches_its_own_configuration_alone_unless_the_worst_score_changes(monkeypatch):
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
    # With the first score, c00 counts as 0, and so do all that fail later.
    assert counts == [1, 2, *[1] * 50]


def latest_of_search(updates):
    return {point.name: point.value for update in updates if update.key == TOP for point in update.points}


def test_the_search_never_shows_the_spread_of_an_earlier_best():
    """Its best has two seeds, then one with a single seed leads: mean, sd and n are of the same configuration."""
    search, mirror = HandWritten(specification()), Mirror()
    search.ask("a", k=50, weighting="standard")
    search.run("a", 0, metrics("dev", 0.70, 0.6, 0.5))
    search.run("a", 1, metrics("dev", 0.74, 0.5, 0.5))
    search.ask("b", k=60, weighting="standard")
    search.run("b", 0, metrics("dev", 0.80, 0.4, 0.5))
    latest = latest_of_search(mirror.take(search.events))
    assert (latest["score"], latest["score_n"], latest["dev/macro_f1/qan"]) == (0.80, 1, 0.4)
    assert np.isnan([latest["score_sd"], latest["dev/macro_f1/qan_sd"]]).all()
    search.run("b", 1, metrics("dev", 0.90, 0.5, 0.5))
    latest = latest_of_search(mirror.take(search.events[-2:]))
    assert latest["score_sd"] == pytest.approx(0.1 / 2**0.5)


def test_a_configuration_that_always_fails_shows_no_score_and_no_spread():
    """It would be the first of those sorted by the least spread."""
    search, mirror = HandWritten(specification()), Mirror()
    for config_id in ("a", "b"):
        search.ask(config_id, k=50 + len(config_id), weighting="standard")
    for replicate in (0, 1):
        search.run("a", replicate, metrics("dev", 0.7 + replicate / 10, 0.6, 0.5))
        search.run("b", replicate, None)
    search.freeze("a")
    names = {point.name for update in mirror.take(search.events) if update.key == ("b",) for point in update.points}
    assert names == {"failed"}


def test_a_result_elsewhere_writes_only_the_score_of_the_best_again():
    search, mirror = HandWritten(specification()), Mirror()
    search.ask("best", k=50, weighting="standard")
    search.run("best", 0, metrics("dev", 0.9, 0.6, 0.5))
    search.ask("poor", k=60, weighting="standard")
    mirror.take(search.events)
    seen = len(search.events)
    search.run("poor", 0, metrics("dev", 0.1, 0.1, 0.1))
    assert latest_of_search(mirror.take(search.events[seen:])) == {"score": 0.9, "score_n": 1.0}
    search.run("best", 1, metrics("dev", 0.8, 0.4, 0.5))
    assert latest_of_search(mirror.take(search.events[seen + 2 :]))["dev/macro_f1/qan"] == pytest.approx(0.5)
