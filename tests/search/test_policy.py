import itertools

from hypothesis import given
from hypothesis import strategies as st

from search.ledger import State
from search.policy import Fixed, New, Replicate, Stop


def drive(policy: Fixed, workers: int, orders: st.DataObject, *, cut_after: int | None = None) -> State:
    """Run a policy to its end without Ray: `workers` at once, finishing in any order, maybe killed once on the way."""
    state, running, names = State(), [], itertools.count()
    state.apply({"event": "search", "time": 0.0})
    for events in itertools.count():
        if events == cut_after:
            running.clear()
            state.apply({"event": "search", "time": 0.0})
        action = policy.next_action(state)
        if len(running) < workers and not isinstance(action, Stop):
            if isinstance(action, New):
                name = f"c{next(names)}"
                state.apply({"event": "ask", "config_id": name, "params": {}, "ask": len(state.configurations)})
                action = Replicate(name, 0, "")
            key = (action.config_id, action.replicate)
            assert key not in running, "a run was started while it runs"
            known = state.configurations[key[0]].runs.get(key[1])
            assert known is None or not known.finished, "a finished run was started again"
            running.append(key)
            state.apply({"event": "start", "config_id": key[0], "replicate": key[1], "phase": "search"})
        elif running:
            config_id, replicate = running.pop(orders.draw(st.integers(0, len(running) - 1)))
            result = {"config_id": config_id, "replicate": replicate, "phase": "search", "metrics": {}, "seconds": 1}
            state.apply({"event": "result", "status": orders.draw(st.sampled_from(["done", "failed:nan"])), **result})
        else:
            return state
    raise AssertionError


@given(st.data(), st.integers(1, 5), st.integers(1, 30), st.integers(1, 6), st.integers(0, 60))
def test_every_configuration_gets_the_same_replicates_whatever_is_killed(data, n, runs, workers, cut):
    runs = max(n, runs)
    state = drive(Fixed(n=n, runs=runs), workers, data, cut_after=cut)
    assert len(state.configurations) == runs // n
    for configuration in state.configurations.values():
        assert sorted(configuration.runs) == list(range(n))
        assert all(run.finished for run in configuration.runs.values())


def test_past_the_hours_what_was_begun_is_completed():
    state = State()
    state.apply({"event": "search", "time": 0.0})
    state.apply({"event": "ask", "config_id": "a", "params": {}, "ask": 0, "time": 0.0})
    state.apply({"event": "start", "config_id": "a", "replicate": 0, "phase": "search", "time": 7300.0})
    policy = Fixed(n=2, hours=2)
    assert policy.next_action(state) == Replicate("a", 1, "seed 2 of 2")
    state.apply({"event": "start", "config_id": "a", "replicate": 1, "phase": "search", "time": 7300.0})
    assert policy.next_action(state) == Stop("the budget of 2 hours is spent")
