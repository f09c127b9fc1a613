"""What a free worker should do now. Pure: everything it needs comes in, nothing else is read, and it can be printed."""

from dataclasses import dataclass

from search.ledger import INTERRUPTED, State


@dataclass(frozen=True)
class New:
    """Ask for a configuration that has not run yet."""

    because: str


@dataclass(frozen=True)
class Replicate:
    """Run a known configuration at a replicate that it has not finished."""

    config_id: str
    replicate: int
    because: str


@dataclass(frozen=True)
class Stop:
    """Start nothing more; what runs may finish."""

    because: str


Action = New | Replicate | Stop


@dataclass(frozen=True)
class Fixed:
    """Every configuration at the same `n` replicates, 0 to n - 1, so that any two can be compared seed by seed.

    A configuration gets all its replicates before the next one is asked for: the sampler then learns from means. A
    budget of runs pays for `runs // n` configurations. Past the hours, what was begun is still completed, since a
    configuration with fewer seeds than the others could not be ranked fairly.
    """

    n: int
    runs: int | None = None
    hours: float | None = None

    def next_action(self, state: State) -> Action:
        for run in state.runs():
            if run.status == INTERRUPTED:
                return Replicate(run.config_id, run.replicate, "it was running when the search stopped")
        for configuration in state.configurations.values():
            for replicate in range(self.n):
                if replicate not in configuration.runs:
                    return Replicate(configuration.config_id, replicate, f"seed {replicate + 1} of {self.n}")
        if self.runs is not None and (len(state.configurations) + 1) * self.n > self.runs:
            return Stop(f"the budget of {self.runs} runs is spent")
        if self.hours is not None and state.worked >= self.hours * 3600:
            return Stop(f"the budget of {self.hours:g} hours is spent")
        return New("the budget pays for another configuration")

    def total_runs(self) -> int | None:
        """How many runs there will be in all; None where only hours bound them."""
        return None if self.runs is None else self.runs // self.n * self.n


def policy_of(specification: dict) -> Fixed:
    """The policy that a specification names, with its budget."""
    return Fixed(specification["replicates"]["n"], **specification["budget"])
