import optuna
import pytest

import spaces
from search.ledger import State, replay
from search.propose import Proposer
from search.selection import Selection

SELECTION = Selection("value", "metric", "mean", "", ())
SPACE = spaces.load("stitching", {"anchors": "all", "epochs": [5, 8]})


def search(proposer: Proposer, configurations: int, *, score) -> list[dict]:
    """The events of a search with one replicate each, told with `score(params)`."""
    state, events = State(), []

    def tell(event):
        events.append(event)
        state.apply(event)

    tell({"event": "search"})
    for _ in range(configurations):
        proposal = proposer.propose(state)
        if proposal is None:
            break
        run = {"config_id": proposal.config_id, "replicate": 0, "phase": "search"}
        tell({"event": "ask", **vars(proposal)})
        tell({"event": "start", **run})
        tell({"event": "result", **run, "status": "done", "metrics": {"value": score(proposal.params)}, "seconds": 1})
    return events


@pytest.mark.parametrize("sampler", ["tpe", "random", "grid"])
def test_every_decision_replays_from_the_ledger(sampler):
    space = spaces.load("stitching", "paper") if sampler == "grid" else SPACE
    proposer = Proposer(space, sampler, 3, SELECTION, expected=12)
    events = search(proposer, 14, score=lambda params: -abs(params["lr"] - 2e-5))
    asks = [index for index, event in enumerate(events) if event["event"] == "ask"]
    assert len(asks) == (9 if sampler == "grid" else 14)
    for index in asks:
        assert vars(proposer.propose(replay(events[:index]))) == {
            key: value for key, value in events[index].items() if key != "event"
        }


@pytest.mark.parametrize("sampler", ["random", "grid"])
def test_blind_samplers_do_not_look_at_results(sampler):
    space = spaces.load("stitching", "paper") if sampler == "grid" else SPACE
    proposer = Proposer(space, sampler, 0, SELECTION)
    one, other = (search(proposer, 8, score=score) for score in (lambda params: 0.0, lambda params: params["lr"]))
    assert [e["params"] for e in one if e["event"] == "ask"] == [e["params"] for e in other if e["event"] == "ask"]


def test_tpe_finds_what_random_does_not():
    """A fact about the plumbing: if means reach Optuna in the right direction, TPE ends nearer to the optimum."""

    def distances(sampler):
        events = search(Proposer(SPACE, sampler, 1, SELECTION), 40, score=lambda params: -abs(params["lr"] - 4.5e-5))
        return [abs(event["params"]["lr"] - 4.5e-5) for event in events if event["event"] == "ask"][20:]

    assert sum(distances("tpe")) < 0.6 * sum(distances("random"))


def test_no_configuration_is_proposed_twice_and_a_small_space_ends():
    space = spaces.load("stitching", {"base": "paper"})
    events = search(Proposer(space, "random", 0, SELECTION), 50, score=lambda params: 0.0)
    ids = [event["config_id"] for event in events if event["event"] == "ask"]
    assert len(ids) == len(set(ids)) == 9


def test_enqueued_configurations_go_first_in_canonical_form():
    space = spaces.load("stitching", {"epochs": [5, 8], "lr": 3e-5})
    proposer = Proposer(space, "tpe", 0, SELECTION, enqueued=({"k": 1, "tau": 0.5}, {"k": 7, "lr": 1e-5}))
    events = search(proposer, 8, score=lambda params: 0.0)  # epochs = 15, the default, is no point of this space
    first, second, *others = [event["params"] for event in events if event["event"] == "ask"]
    assert (first["k"], first["lr"], first["epochs"]) == (1, 3e-5, 15)
    assert "tau" not in first
    assert (second["k"], second["lr"]) == (7, 1e-5)
    assert all(params["lr"] == 3e-5 and params["epochs"] <= 8 for params in others)


def test_told_trials_are_means_and_pending_ones_are_running():
    state = replay(
        [
            {"event": "search"},
            {"event": "ask", "config_id": "a", "params": {}, "suggested": {"row": "table 3, k = 1"}, "ask": 0},
            {"event": "ask", "config_id": "b", "params": {}, "suggested": {"row": "table 3, k = 10"}, "ask": 1},
            *(
                event
                for replicate, value in enumerate([0.2, 0.4])
                for event in (
                    {"event": "start", "config_id": "a", "replicate": replicate, "phase": "search"},
                    {
                        "event": "result",
                        "config_id": "a",
                        "replicate": replicate,
                        "status": "done",
                        "metrics": {"value": value},
                        "seconds": 1,
                    },
                )
            ),
        ]
    )
    told = Proposer(spaces.load("stitching", "paper"), "tpe", 0, SELECTION)._told(state)
    assert [trial.state for trial in told] == [optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.RUNNING]
    assert told[0].value == pytest.approx(0.3)
