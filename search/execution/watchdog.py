"""Runs that hang: the limit per run, and workers that give no sign of life."""

from collections.abc import Callable
from dataclasses import dataclass, field

TIMEOUT = "failed:timeout"
LOOKS = 4  # per limit: how late it may be noticed, at most a quarter of it
MOST_SECONDS = 15.0  # between two looks, where limits are long


@dataclass
class Watched:
    """One run that a worker has."""

    name: str
    changed: float  # when its sign of life last changed, by the driver's clock
    begun: float | None = None  # when its first sign was seen
    sign: bytes | None = None


@dataclass
class Watch:
    """Looks after the runs of a session. All times are seconds of the driver's clock, which only its own looks move.

    `limit` is the longest that a run may take from its first sign on (None: any time), `silence` the longest without a
    new sign. `last_sign` reads the sign of a run by its name.
    """

    limit: float | None
    silence: float
    last_sign: Callable[[str], bytes | None]
    runs: dict[str, Watched] = field(default_factory=dict)  # by trial
    looked: float = 0.0

    def begin(self, trial_id: str, name: str, now: float) -> None:
        self.runs[trial_id] = Watched(name, now)

    def end(self, trial_id: str, now: float) -> float:
        """Look after a run no more; how many seconds it had, from its first sign on."""
        run = self.runs.pop(trial_id, None)
        return 0.0 if run is None or run.begun is None else now - run.begun

    def look(self, now: float) -> dict[str, str]:
        """Trials to end now, and why: "timeout" or "silent". Cheap where it is not yet time to look again."""
        if now - self.looked < min(MOST_SECONDS, self.silence / LOOKS, (self.limit or self.silence) / LOOKS):
            return {}
        self.looked, found = now, {}
        for trial_id, run in self.runs.items():
            sign = self.last_sign(run.name)
            if sign is not None and sign != run.sign:
                run.sign, run.changed = sign, now
                run.begun = now if run.begun is None else run.begun
            if self.limit is not None and run.begun is not None and now - run.begun > self.limit:
                found[trial_id] = "timeout"
            elif now - run.changed > self.silence:
                found[trial_id] = "silent"
        return found
