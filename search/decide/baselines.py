"""Baselines beside a search: what else could have been done with the same data, on the same replicates.

They have small spaces of their own, which are tried completely once the policy has stopped. They never compete: no
baseline is proposed, ranked, or chosen. The best of each kind is confirmed with the chosen configurations.
"""

from dataclasses import dataclass

from seedwise.errors import RequestError
from seedwise.search.decide.landscape_plan import Plan
from seedwise.search.decide.policy import Policy, Replicate, Stop, free_replicate
from seedwise.search.ledger.state import SEARCH, State
from seedwise.search.ranking.baseline_scores import title, varying
from seedwise.spaces import Space, config_id, load
from seedwise.spaces.baselines import NAMES, baseline_space
from seedwise.suggest import nearest
from seedwise.trainables.method import Asked


def spaces_of(method: object, space: Space, chosen: dict[str, dict]) -> dict[str, Space]:
    """The space of every baseline that a specification names, beside the method's own."""
    known = NAMES.get(method, ()) if isinstance(method, str) else ()
    for name in chosen:
        if name not in known:
            hint = nearest(name, known) if known else " Remove it: this method has no baselines."
            raise RequestError(f"baselines.{name}: there is no such baseline.{hint}")
    return {name: baseline_space(name, space, overrides) for name, overrides in chosen.items()}


def asked_of(specification: dict) -> Asked:
    """Every configuration that a search can ask for, baselines and enqueued ones among them."""
    space = load(specification["method"], specification["space"], specification["compat"])
    asked = {"space": space.met()}
    for name, one in spaces_of(specification["method"], space, specification["baselines"]).items():
        asked[f"baselines.{name}"] = one.met()
    for index, params in enumerate(specification["enqueue"] or []):
        asked[f"enqueue.{index}"] = [space.complete(params)]
    return Asked(asked)


def searched(asked: Asked) -> dict[str, list[str]]:
    """Names of the parameters that differ between the configurations of a search, and between those of each baseline.

    The method's own are under an empty name. They are what a person would tell configurations apart by.
    """
    families: dict[str, list[dict]] = {}
    for params in (params for met in asked.configurations.values() for params in met):
        families.setdefault(params.get("baseline", ""), []).append(params)
    return {kind: varying(found) for kind, found in families.items()}


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

    @property
    def kinds(self) -> int:
        """How many are confirmed: the best of each kind."""
        return len({title(params) for params in self.configurations})

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


def baselines_of(specification: dict, policy: Policy) -> Baselines | None:
    """All that the baselines run, at as many replicates as the policy gives everybody; None without baselines."""
    if not specification["baselines"]:
        return None
    space = load(specification["method"], specification["space"], specification["compat"])
    spaces = spaces_of(specification["method"], space, specification["baselines"])
    return Baselines.of(spaces, policy.for_everyone())


def total_runs(specification: dict, policy: Policy, state: State) -> int | None:
    """How many runs there will be in all, baselines and confirmation included; None where only hours bound them."""
    if specification["landscape"]:
        return len(Plan.of(specification).runs)
    confirm = specification["replicates"]["confirm"]
    if state.stopped:
        chosen = len(state.frozen) + len(state.frozen_baselines)
        return sum(1 for _ in state.runs_of(SEARCH)) + chosen * confirm["fresh"]
    total, baselines = policy.total_runs(), baselines_of(specification, policy)
    if total is None or baselines is None:
        return total
    return total + baselines.runs + (baselines.kinds * confirm["fresh"] if confirm["top"] else 0)
