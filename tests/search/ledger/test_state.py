import pytest

from seedwise.search.ledger.state import replay


def test_time_between_sessions_is_not_work():
    state = replay(
        [
            {"event": "search", "time": 100.0},
            {"event": "ask", "config_id": "a", "params": {}, "ask": 0, "time": 130.0},
            {"event": "search", "time": 9000.0},
            {"event": "start", "config_id": "a", "replicate": 0, "phase": "search", "time": 9005.0},
        ]
    )
    assert state.worked == pytest.approx(35.0)
    assert state.sessions == 2


def test_a_ledger_of_the_first_version_can_be_read():
    """The first version had no confirmation, pruning or decomposition."""
    old = {"name": "x", "budget": {"runs": 12}, "replicates": {"policy": "fixed", "n": 3}}
    then = replay([{"event": "search", "specification": old}]).search["specification"]
    assert then["replicates"] == {"policy": "fixed", "n": 3, "confirm": {"top": 0, "fresh": 1}}
    assert (then["prune"], then["decompose"], then["budget"]) == ("off", [], {"runs": 12})
    new = {**old, "replicates": {"policy": "race", "confirm": {"top": 3, "fresh": 5}}, "prune": "asha"}
    then = replay([{"event": "search", "specification": new}]).search["specification"]
    assert then == {
        "compat": "ours",
        "baselines": {},
        "landscape": None,
        **new,
    }  # states of the second version have neither
    newest = {**new, "compat": "paper", "baselines": {"ls": {}}, "landscape": {"replicates": 3}}
    then = replay([{"event": "search", "specification": newest}]).search["specification"]
    assert then == {**newest, "baseline_lengths": "longest"}  # its baselines had one length
    now = {**newest, "baseline_lengths": "grid"}
    assert replay([{"event": "search", "specification": now}]).search["specification"] == now
