"""Invented ledgers with everything that a tracker may have to show, in random order."""

import random

from seedwise.search.decide.policy import FRESH
from tests.search.hand_written import metrics, specification


class RandomLedger:
    """A search with failures, pruned runs, baselines, interruptions and a confirmation; a seed decides which.

    Odd seeds are decompositions too, with a stream for each configuration but the first.
    """

    def __init__(self, seed: int, configurations: int = 6):
        self.random, self.events, self.sessions = random.Random(seed), [], 0
        self.decomposed = bool(seed % 2)
        self.open: list[tuple[str, int, str]] = []  # runs without a result
        self.session()
        identities = [f"c{number}" for number in range(configurations)] + ["flat", "lr"]
        self.random.shuffle(identities)
        for number, config_id in enumerate(identities):
            self.ask(config_id, number)
        self.phase(
            "search",
            [(identity, replicate) for identity in identities for replicate in range(self.random.randint(0, 3))],
        )
        chosen = self.random.sample([identity for identity in identities if identity not in ("flat", "lr")], 2)
        estimates = {
            identity: {"estimate": self.random.random(), "estimate_sd": 0.1, "p_best": 0.5} for identity in chosen
        }
        self.tell("freeze", because="budget", configs=chosen, baselines=["flat"], estimates=estimates)
        fresh = [(identity, FRESH + replicate) for identity in [*chosen, "flat"] for replicate in range(2)]
        self.phase("confirm", fresh)
        self.tell("end", because="budget")

    def tell(self, event: str, **fields) -> None:
        self.events.append({"event": event, "time": 1e9 + len(self.events) // 2, **fields})

    def session(self) -> None:
        search = {"search_id": "5ea4c4", "name": "story", "session": self.sessions, "command": "seedwise search demo"}
        search |= {"searched": {"": ["k"]}, "checksums": {"task.data": "d" * 64}}
        self.tell("search", **search, revision=f"r{self.sessions}", specification=self.specification())
        self.sessions += 1

    def specification(self) -> dict:
        return specification() | ({"decompose": ["head", "order"]} if self.decomposed else {})

    def ask(self, config_id: str, number: int) -> None:
        params = {"flat": {"baseline": "constant"}, "lr": {"baseline": "lr", "c": 1.0}}.get(config_id, {"k": number})
        vary = config_id if self.decomposed and number else None
        self.tell("ask", config_id=config_id, params=params, ask=number, suggested={}, vary=vary)

    def phase(self, phase: str, planned: list[tuple[str, int]]) -> None:
        self.random.shuffle(planned)
        while planned or self.open:
            if planned and self.random.random() < 0.5:
                self.start(*planned.pop(), phase)
            elif self.open and self.random.random() < 0.04:
                self.session()
                interrupted, self.open = self.open, []
                for run in interrupted:
                    self.start(*run)
            elif self.open:
                self.proceed()

    def start(self, config_id: str, replicate: int, phase: str) -> None:
        self.tell("start", config_id=config_id, replicate=replicate, phase=phase)
        self.open.append((config_id, replicate, phase))

    def proceed(self) -> None:
        """One of the runs takes a step, or ends."""
        config_id, replicate, phase = run = self.random.choice(self.open)
        of_run = {"config_id": config_id, "replicate": replicate}
        score = self.random.choice([0.1, 0.3, 0.5, 0.5, self.random.random()])
        values = metrics("dev", score, score / 2, 0.4) | (metrics("test", score) if phase == "confirm" else {})
        if config_id == "lr":
            values.pop("dev/macro_f1/qel")  # the score that ranks
        if self.random.random() < 0.5:
            self.tell("step", **of_run, step=self.random.randint(1, 2), metrics=values)
            return
        self.open.remove(run)
        status = self.random.choice(["done", "done", "done", "failed:nan", "pruned"])
        if status == "failed:nan" and self.random.random() < 0.5:
            values = {}
        self.tell("result", **of_run, phase=phase, step=3, status=status, error="", seconds=1.5, metrics=values)
