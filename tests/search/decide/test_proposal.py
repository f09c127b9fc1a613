import optuna
import pytest

from seedwise import spaces
from seedwise.search.decide.proposal import Known, Proposer
from seedwise.search.decide.samplers import SAMPLERS
from seedwise.search.ledger.state import State, replay
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.selection import Selection

ESTIMATOR = Estimator(Selection("value", "metric", "mean", "", ()))
SPACE = spaces.load("stitching", {"anchors": "all", "epochs": [5, 8]})


def run(config_id: str, replicate: int, value: float | None) -> list[dict]:
    """The two events of a finished run; None fails it."""
    common = {"config_id": config_id, "replicate": replicate, "phase": "search"}
    status, metrics = ("done", {"value": value}) if value is not None else ("failed:nan", {})
    result = {"event": "result", **common, "status": status, "metrics": metrics, "seconds": 1}
    return [{"event": "start", **common}, result]


def search(proposer: Proposer, configurations: int, *, score, first: dict | None = None) -> list[dict]:
    """The events of a search with one replicate each and scores `score(params)`; None is a failure."""
    state, events = State(), []

    def tell(event):
        events.append(event)
        state.apply(event)

    tell({"event": "search", **(first or {})})
    for _ in range(configurations):
        proposal = proposer.propose(state)
        if proposal is None:
            break
        tell({"event": "ask", **vars(proposal)})
        for event in run(proposal.config_id, 0, score(proposal.params)):
            tell(event)
    return events


def params_of(events: list[dict]) -> list[dict]:
    return [event["params"] for event in events if event["event"] == "ask"]


@pytest.mark.parametrize("sampler", ["tpe", "gp", "random", "grid"])
def test_every_decision_replays_from_the_ledger(sampler):
    space = spaces.load("stitching", "paper") if sampler == "grid" else SPACE
    proposer = Proposer(space, sampler, 3, ESTIMATOR, expected=12)
    count = {"grid": 9, "gp": 7}.get(sampler, 14)
    events = search(proposer, 7 if sampler == "gp" else 14, score=lambda params: -abs(params["lr"] - 2e-5))
    asks = [index for index, event in enumerate(events) if event["event"] == "ask"]
    assert len(asks) == count
    for index in asks:
        assert vars(proposer.propose(replay(events[:index]))) == {
            key: value for key, value in events[index].items() if key != "event"
        }


@pytest.mark.parametrize("sampler", ["random", "grid"])
def test_random_and_grid_samplers_ignore_results(sampler):
    space = spaces.load("stitching", "paper") if sampler == "grid" else SPACE
    proposer = Proposer(space, sampler, 0, ESTIMATOR)
    first, second = (search(proposer, 8, score=score) for score in (lambda params: 0.0, lambda params: params["lr"]))
    assert [e["params"] for e in first if e["event"] == "ask"] == [e["params"] for e in second if e["event"] == "ask"]


def test_tpe_does_better_than_random():
    """If means reach Optuna with the right sign, TPE ends nearer to the optimum."""

    def distances(sampler):
        events = search(Proposer(SPACE, sampler, 1, ESTIMATOR), 40, score=lambda params: -abs(params["lr"] - 4.5e-5))
        return [abs(event["params"]["lr"] - 4.5e-5) for event in events if event["event"] == "ask"][20:]

    assert sum(distances("tpe")) < 0.6 * sum(distances("random"))


def test_no_configuration_is_proposed_twice_and_a_small_space_ends():
    space = spaces.load("stitching", {"base": "paper"})
    events = search(Proposer(space, "random", 0, ESTIMATOR), 50, score=lambda params: 0.0)
    ids = [event["config_id"] for event in events if event["event"] == "ask"]
    assert len(ids) == len(set(ids)) == 9


def test_enqueued_configurations_go_first_in_canonical_form():
    space = spaces.load("stitching", {"epochs": [5, 8], "lr": 3e-5})
    proposer = Proposer(space, "tpe", 0, ESTIMATOR, enqueued=({"k": 1, "tau": 0.5}, {"k": 7, "lr": 1e-5}))
    events = search(proposer, 8, score=lambda params: 0.0)  # epochs = 15, the default, is no point of this space
    first, second, *others = [event["params"] for event in events if event["event"] == "ask"]
    assert (first["k"], first["lr"], first["epochs"]) == (1, 3e-5, 15)
    assert "tau" not in first
    assert (second["k"], second["lr"]) == (7, 1e-5)
    assert all(params["lr"] == 3e-5 and params["epochs"] <= 8 for params in others)


def test_finished_trials_report_posterior_means_and_pending_trials_are_running():
    state = replay(
        [
            {"event": "search"},
            {"event": "ask", "config_id": "a", "params": {}, "suggested": {"row": "table 3, k = 1"}, "ask": 0},
            {"event": "ask", "config_id": "b", "params": {}, "suggested": {"row": "table 3, k = 10"}, "ask": 1},
            {"event": "ask", "config_id": "c", "params": {}, "suggested": {"row": "table 3, k = 50"}, "ask": 2},
            *run("a", 0, 0.2),
            *run("a", 1, 0.4),
            *run("b", 0, 0.8),
        ]
    )
    trials = Proposer(spaces.load("stitching", "paper"), "tpe", 0, ESTIMATOR)._trials(state)
    states = optuna.trial.TrialState
    assert [trial.state for trial in trials] == [states.COMPLETE, states.COMPLETE, states.RUNNING]
    estimate = ESTIMATOR.estimate(state)
    assert [trial.value for trial in trials[:2]] == estimate.mean.tolist()
    assert trials[0].value < trials[1].value


def test_samplers_avoid_failed_configurations():
    """Half of the space fails and all other scores are equal: TPE avoids the infeasible half."""
    proposer = Proposer(SPACE, "tpe", 1, ESTIMATOR)
    events = search(proposer, 40, score=lambda params: None if params["lr"] > 1.6e-5 else 0.5)
    late = [params["lr"] for params in params_of(events)[20:]]
    random = search(Proposer(SPACE, "random", 1, ESTIMATOR), 40, score=lambda params: 0.0)
    assert sum(lr > 1.6e-5 for lr in late) < 0.5 * sum(params["lr"] > 1.6e-5 for params in params_of(random)[20:])
    trials = proposer._trials(replay(events))
    assert {trial.constraints["failed"] > 0 for trial in trials} == {True, False}
    assert all((trial.constraints["failed"] > 0) == (trial.params["lr"] > 1.6e-5) for trial in trials)
    assert all(trial.value == trial.value for trial in trials)  # never nan


def test_a_sampler_maximises_the_score():
    space = spaces.load("stitching", {"k": 50, "weighting": "standard", "anchors": "all", "epochs": [5, 8]})
    fixed = dict.fromkeys(("merge_anchors", "centre", "renorm", "freeze_embeddings"), False)
    space = spaces.load("stitching", {**space.overrides, **fixed})

    def distance(name):
        events = search(Proposer(space, name, 1, ESTIMATOR), 30, score=lambda params: -abs(params["lr"] - 4.5e-5))
        return sum(abs(params["lr"] - 4.5e-5) for params in params_of(events)[15:])

    assert distance("gp") < 0.75 * distance("random")


def test_a_known_configuration_is_proposed_again_only_where_it_may_have_another_replicate():
    """Three configurations in all: a fourth draw is one of them, in canonical form."""
    space = spaces.load("stitching", {"base": "paper", "row": ["table 3, k = 1", "table 3, k = 10", "table 3, k = 50"]})
    proposer = Proposer(space, "random", 0, ESTIMATOR)
    events = search(proposer, 9, score=lambda params: 0.0)
    state = replay(events)
    assert len(state.configurations) == 3
    assert proposer.propose(state) is None
    again = proposer.propose(state, lambda configuration: True)
    assert isinstance(again, Known)
    assert again.config_id in state.configurations
    start = {"config_id": again.config_id, "replicate": 1, "phase": "search", "ask": again.ask}
    state.apply({"event": "start", **start})
    assert state.next_ask == again.ask + 1  # the next draw differs


def test_the_best_of_earlier_searches_go_first_and_inform_the_sampler():
    best = SPACE.canonical({"k": 7, "lr": 4.9e-5, "epochs": 6})
    others = [SPACE.canonical({"k": 20, "lr": lr, "epochs": 7}) for lr in (6e-6, 8e-6, 1e-5)]
    outside = SPACE.canonical({"k": 5, "epochs": 30})
    earlier = [
        {"params": params, "suggested": {}, "score": score}
        for params, score in [(best, 1.5), (outside, 1.0), *((first, -1.0) for first in others)]
    ]
    proposer = Proposer(SPACE, "tpe", 0, ESTIMATOR, enqueued=({"k": 1, "epochs": 5},))
    events = search(proposer, 3, score=lambda params: 0.0, first={"earlier": earlier})
    assert params_of(events)[0]["k"] == 1
    assert params_of(events)[1:] == [best, others[0]]
    trials = proposer._trials(replay(events))
    values = {trial.params["lr"]: trial.value for trial in trials[:4]}
    assert len(trials) == 4 + 3  # without the configuration outside the space, with the three of this search
    assert values[4.9e-5] > values[6e-6]


def test_a_decomposition_proposes_one_configuration_once_per_stream():
    proposer = Proposer(SPACE, "random", 0, ESTIMATOR, enqueued=({"k": 3},), varying=(None, "head", "order"))
    events = search(proposer, 5, score=lambda params: 0.0)
    asks = [event for event in events if event["event"] == "ask"]
    assert [event["vary"] for event in asks] == [None, "head", "order"]
    assert len({str(event["params"]) for event in asks}) == 1
    base = asks[0]["config_id"]
    assert [event["config_id"] for event in asks] == [base, f"{base}-head", f"{base}-order"]


@pytest.mark.parametrize("sampler", ["tpe", "gp"])
def test_a_long_history_is_thinned_for_the_sampler(sampler):
    """Most are pruned, as by ASHA; the sampler gets the best, the running and a sample of the others."""
    proposer = Proposer(SPACE, sampler, 0, ESTIMATOR)
    events, most = [{"event": "search"}], SAMPLERS[sampler].max_trials
    draws = search(Proposer(SPACE, "random", 0, ESTIMATOR), 2 * most, score=lambda params: params["lr"])
    for number, event in enumerate(event for event in draws if event["event"] == "ask"):
        status = "running" if number % 50 == 49 else "pruned" if number % 8 else "done"
        ended = run(event["config_id"], 0, event["params"]["lr"])
        events += [event, ended[0]]
        if status != "running":
            events.append(ended[1] | {"status": status, "step": 1})
    state = replay(events)
    trials = proposer._trials(state)
    assert len(trials) < most
    states = {trial.state.name for trial in trials}
    assert states == {"COMPLETE", "PRUNED", "RUNNING"}
    done = [first.params["lr"] for first in state.configurations.values() if first.runs[0].status == "done"]
    assert max(trial.params["lr"] for trial in trials if trial.state.name == "COMPLETE") == max(done)
    many = replay([event | ({"status": "done"} if event.get("status") else {}) for event in events])
    assert len(proposer._trials(many)) <= most + 2 * most // 50


@pytest.mark.parametrize("sampler", ["tpe", "gp"])
def test_earlier_searches_and_failures_can_be_combined(sampler):
    others = [SPACE.canonical({"k": 20, "lr": lr, "epochs": 7}) for lr in (6e-6, 8e-6, 1e-5)]
    earlier = {"earlier": [{"params": first, "suggested": {}, "score": 0.5} for first in others]}
    proposer = Proposer(SPACE, sampler, 0, ESTIMATOR, expected=4)
    events = search(proposer, 7, score=lambda params: None if params["lr"] > 1.6e-5 else 0.5, first=earlier)
    assert len(params_of(events)) == 7
