from hypothesis import given
from hypothesis import strategies as st

from seedwise.search.decide.policy import free_replicate
from seedwise.search.ledger.state import CONFIRM, INTERRUPTED, SEARCH, State

STATUS = st.sampled_from(["done", "pruned", "failed:nan"])


@given(st.data())
def test_counts_are_those_of_a_scan_of_all_runs_whatever_the_ledger_says(data):
    """Any order of starts, results, losses and new sessions; every count is compared after every line."""
    state = State()
    for number in range(data.draw(st.integers(1, 25))):
        state.apply(line(data, state, number))
        tally, runs = state.tally, list(state.runs())
        assert tally.finished == sum(run.finished for run in runs)
        for phase in (SEARCH, CONFIRM):
            assert tally.started[phase] == sum(run.phase == phase for run in runs)
        assert tally.open_runs() == [run for run in runs if not run.finished]
        everyone = list(state.configurations.values())
        assert tally.unstarted() == [configuration for configuration in everyone if not configuration.runs]
        pruned = [configuration for configuration in everyone if configuration.pruned]
        assert (tally.pruned, tally.pruned_runs) == (
            len(pruned),
            sum(len(configuration.runs) for configuration in pruned),
        )
        for most in range(4):
            short = [
                configuration
                for configuration in everyone
                if not configuration.pruned and free_replicate(configuration) < most
            ]
            assert tally.short_of(most) == short


def line(data: st.DataObject, state: State, number: int) -> dict:
    """A possible next line of a ledger: a known configuration is started unless that run is already running."""
    open_runs = [run for run in state.runs() if run.status == "running"]
    kinds = ["ask", "search", *(["start"] if state.configurations else []), *(["result", "lost"] if open_runs else [])]
    kind = data.draw(st.sampled_from(kinds))
    if kind in ("result", "lost"):
        run = data.draw(st.sampled_from(open_runs))
        ended = {"status": data.draw(STATUS), "metrics": {}, "seconds": 1.0, "because": "its node went away"}
        return {"event": kind, "config_id": run.config_id, "replicate": run.replicate, "phase": run.phase, **ended}
    if kind == "start":
        configuration = state.configurations[data.draw(st.sampled_from(list(state.configurations)))]
        lost = [run.replicate for run in configuration.runs.values() if run.status == INTERRUPTED]
        new = [replicate for replicate in (0, 1, 2, 1000) if replicate not in configuration.runs]
        replicate = data.draw(st.sampled_from([*lost, *new, *([] if lost or new else configuration.runs)]))
        phase = CONFIRM if replicate >= 1000 else SEARCH
        return {"event": kind, "config_id": configuration.config_id, "replicate": replicate, "phase": phase}
    return {"event": kind, "config_id": f"c{number}", "params": {}, "ask": number} if kind == "ask" else {"event": kind}
