"""Runs that hang: the limit per run, and workers without a heartbeat."""

from collections.abc import Callable
from dataclasses import dataclass, field

TIMEOUT = "failed:timeout"
LOOKS = 4  # per limit: how late it may be noticed, at most a quarter of it
MAX_LOOK_SECONDS = 15.0  # between two looks, where limits are long


@dataclass
class Watched:
    """One run that a worker has."""

    name: str
    changed: float  # when its heartbeat last changed, by the driver's clock
    begun: float | None = None  # when its first one was seen
    beat: bytes | None = None


@dataclass
class Watch:
    """Looks after the runs of a session. All times are seconds of the driver's clock, which only its own looks move.

    `limit` is the longest that a run may take from its first heartbeat on (None: any time), `silence` the longest
    without a new one. `last_beat` reads the heartbeat of a run by its name.
    """

    limit: float | None
    silence: float
    last_beat: Callable[[str], bytes | None]
    runs: dict[str, Watched] = field(default_factory=dict)  # by trial
    looked: float = 0.0

    def begin(self, trial_id: str, name: str, now: float) -> None:
        self.runs[trial_id] = Watched(name, now)

    def end(self, trial_id: str, now: float) -> float:
        """Look after a run no more; how many seconds it had, from its first heartbeat on."""
        run = self.runs.pop(trial_id, None)
        return 0.0 if run is None or run.begun is None else now - run.begun

    def look(self, now: float) -> dict[str, str]:
        """Trials to end now, and why: "timeout" or "silent". Cheap where it is not yet time to look again."""
        if now - self.looked < min(MAX_LOOK_SECONDS, self.silence / LOOKS, (self.limit or self.silence) / LOOKS):
            return {}
        self.looked, hung = now, {}
        for trial_id, run in self.runs.items():
            beat = self.last_beat(run.name)
            if beat is not None and beat != run.beat:
                run.beat, run.changed = beat, now
                run.begun = now if run.begun is None else run.begun
            if self.limit is not None and run.begun is not None and now - run.begun > self.limit:
                hung[trial_id] = "timeout"
            elif now - run.changed > self.silence:
                hung[trial_id] = "silent"
        return hung
