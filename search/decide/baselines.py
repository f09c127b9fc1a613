"""Baselines beside a search: other ways to use the same data, run at the same replicates.

Each baseline has a small space, which is tried completely once the policy has stopped. Baselines never compete: none
is proposed, ranked or chosen. The best of each kind is confirmed with the chosen configurations.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seedwise.errors import made_of_each
from seedwise.search.decide.policy import Policy, Replicate, Stop, free_replicate
from seedwise.search.ledger.state import SEARCH, State
from seedwise.search.ranking.baseline_scores import title, varying
from seedwise.spaces import Space, config_id
from seedwise.spaces.baselines import LENGTHS, Lengths, baseline_space
from seedwise.trainables.method import Candidates
from seedwise.trainables.methods import built_in


def baseline_spaces(
    method: str | dict, space: Space, chosen: dict[str, dict], lengths: Lengths = "grid"
) -> dict[str, Space]:
    """The space of every baseline in `chosen`, which maps names to overrides. `space` is the space of the method."""
    spec = built_in(method)
    known = ((name, chosen[name]) for name in chosen if spec and name in spec.baselines)  # checks report unknown names
    return made_of_each(lambda name, overrides: baseline_space(method, name, space, overrides, lengths), known)


def every_candidate(space: Space, baselines: dict[str, Space], enqueued: Sequence[dict]) -> Candidates:
    """Every configuration that a search can run, including baselines and enqueued configurations."""
    configurations = {"space": space.samples} | {f"baselines.{name}": own.samples for name, own in baselines.items()}
    items = ((f"enqueue.{index}", params) for index, params in enumerate(enqueued))
    return Candidates(configurations | made_of_each(lambda key, params: [space.complete(params, key)], items))


def distinguishing_parameters(candidates: Candidates) -> dict[str, list[str]]:
    """Names of the parameters that differ between configurations, by baseline; the method's are under an empty name."""
    families: dict[str, list[dict]] = {}
    for params in itertools.chain.from_iterable(candidates.configurations.values()):
        families.setdefault(params.get("baseline", ""), []).append(params)
    return {baseline: varying(family) for baseline, family in families.items()}


@dataclass(frozen=True)
class Baselines:
    """All configurations of all baselines, at the first `replicates` replicates each."""

    method: str | dict
    configurations: tuple[dict, ...]
    replicates: int

    def next_events(self, state: State) -> tuple[list[dict], Replicate | Stop]:
        """The events to write before the next run of a baseline, and that run. A pure function, like a policy."""
        for params in self.configurations:
            identity, because = config_id(params), f"baseline {params['baseline']}"
            known = state.configurations.get(identity)
            if known is None:
                return [ask_event(identity, params, -1)], Replicate(identity, 0, because)
            if (replicate := free_replicate(known)) < self.replicates:
                return [], Replicate(identity, replicate, because)
        return [], Stop("all baselines have run")


def ask_event(identity: str, params: dict, ask: int) -> dict:
    """The event of a configuration that no sampler has drawn."""
    return {"event": "ask", "config_id": identity, "params": params, "suggested": {}, "ask": ask}


def allowances(baselines: Baselines, policy: Policy, space: Space) -> list[str]:
    """A line for each baseline and for the method: the runs, learning rates and training lengths that it may use."""
    families: dict[str, list[dict]] = {}
    for params in baselines.configurations:
        families.setdefault(params["baseline"], []).append(params)
    spec, lines = built_in(baselines.method), []
    for name, family in families.items():
        names = [key for key in ("lr", *LENGTHS) if key in family[0]]
        names += [key for key in varying(family) if key not in names]
        values = ((key, dict.fromkeys(params[key] for params in family if key in params)) for key in names)
        tried = "; ".join(f"{key} {', '.join(map(_in_words, sorted(its)))}" for key, its in values)
        lines.append(
            f"{spec.baselines[name].options.title}: {len(family)} configuration{'s' if len(family) > 1 else ''}"
            f"{tried and f' ({tried})'}, {baselines.replicates} replicate{'s' if baselines.replicates > 1 else ''} each"
        )
    ranges = []
    for key in ("lr", *LENGTHS):
        if values := {params[key] for params in space.samples if key in params}:
            ends = dict.fromkeys((min(values), max(values)))
            ranges.append(f"{key} {' to '.join(map(_in_words, ends))}")
    return [*lines, f"the method: {policy.in_words()}; {'; '.join(ranges)}"]


def _in_words(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def total_runs(policy: Policy, baselines: Baselines | None, confirm: Any, state: State) -> int | None:
    """The total number of runs of a search, including the confirmation; None if only hours limit it.

    `confirm` is `replicates.confirm` of the specification.
    """
    if state.stopped:
        chosen = len(state.frozen) + len(state.frozen_baselines)
        return sum(1 for _ in state.runs_of(SEARCH)) + chosen * confirm.fresh
    total = policy.total_runs()
    if total is None or baselines is None:
        return total
    runs = len(baselines.configurations) * baselines.replicates
    kinds = {title(baselines.method, params) for params in baselines.configurations}  # the best of each is confirmed
    return total + runs + (len(kinds) * confirm.fresh if confirm.top else 0)
