"""Baselines beside a search: what else could have been done with the same data, on the same replicates.

They have small spaces of their own, which are tried completely once the policy has stopped. They never compete: no
baseline is proposed, ranked, or chosen. The best of each kind is confirmed with the chosen configurations.
"""

from dataclasses import dataclass
from statistics import fmean

from search.errors import RequestError
from search.ledger import DONE, SEARCH, State
from search.policy import Replicate, Stop, free_replicate
from search.selection import Selection
from spaces import Space, config_id
from spaces.baselines import FUNCTIONS, OPTIONS, baseline_space
from spaces.dimension import nearest

KNOWN = {"stitching": tuple(FUNCTIONS)}  # by method


def spaces_of(method: object, space: Space, chosen: dict[str, dict]) -> dict[str, Space]:
    """The space of every baseline that a specification names, beside the method's own."""
    known = KNOWN.get(method, ()) if isinstance(method, str) else ()
    for name in chosen:
        if name not in known:
            hint = nearest(name, known) if known else " Remove it: this method has no baselines."
            raise RequestError(f"baselines.{name}: there is no such baseline.{hint}")
    return {name: baseline_space(name, space, overrides) for name, overrides in chosen.items()}


@dataclass(frozen=True)
class Baselines:
    """All configurations of all baselines, at the first `replicates` replicates each."""

    configurations: tuple[dict, ...]
    replicates: int

    @classmethod
    def of(cls, spaces: dict[str, Space], replicates: int) -> "Baselines":
        return cls(tuple(params for space in spaces.values() for params, _ in space.grid()), replicates)

    @property
    def runs(self) -> int:
        return len(self.configurations) * self.replicates

    def next_events(self, state: State) -> tuple[list[dict], Replicate | Stop]:
        """What to write before the next run of a baseline, and the run. Pure, as a policy is."""
        for params in self.configurations:
            identity, because = config_id(params), f"baseline {params['baseline']}"
            known = state.configurations.get(identity)
            if known is None:
                asked = {"event": "ask", "config_id": identity, "params": params, "suggested": {}, "ask": -1}
                return [asked], Replicate(identity, 0, because)
            if (replicate := free_replicate(known)) < self.replicates:
                return [], Replicate(identity, replicate, because)
        return [], Stop("all baselines have run")


def best_of_each(state: State, selection: Selection) -> list[str]:
    """The best configuration of each baseline, by the mean of the score that ranks the method.

    A baseline that does not report that score (logistic regression has no source) is judged by target dev: it uses
    labels of the target anyway, and is marked so.
    """
    families: dict[str, dict[str, float]] = {}
    for configuration in state.configurations.values():
        if configuration.baseline:
            score = mean_score(configuration.of_phase(SEARCH), selection)
            if score is not None:
                families.setdefault(title(configuration.params), {})[configuration.config_id] = score
    return [max(scores, key=scores.get) for scores in families.values()]


def title(params: dict) -> str:
    """What a leaderboard calls a baseline. Maps count as kinds: they share one source model, so no source score tells
    them apart."""
    return " ".join([OPTIONS[params["baseline"]].title, *([params["map"]] if "map" in params else [])])


def mean_score(runs: list, selection: Selection) -> float | None:
    done = [run.metrics for run in runs if run.status == DONE]
    scores = [selection.score(metrics) for metrics in done]
    if done and None in scores:
        scores = [fmean([metrics[name] for name in selection.audit if name in metrics] or [0.0]) for metrics in done]
    return fmean(scores) if scores else None
