"""Searches written by hand: ledgers with chosen scores, without any run."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from seedwise.search.ledger.state import State, replay
from seedwise.search.ranking.results import Results
from seedwise.search.spec.load import read, recorded
from seedwise.spaces import Space, load

LANGUAGES = ("qel", "qan", "qor")  # source and targets of the embedded world


@cache
def _resolved(changes: tuple[str, ...], base: str) -> str:
    return json.dumps(read(base, ["tracking.uri=off", *changes]).as_dict())


@cache
def _space(resolved: str) -> Space:
    content = json.loads(resolved)
    return load(content["method"], content["space"], content["compat"])


def specification(*changes: str, base: str = "demo") -> dict:
    """A built-in specification, resolved, with overrides as on the command line."""
    return json.loads(_resolved(changes, base))


def metrics(split: str, *scores: float, metric: str = "macro_f1") -> dict[str, float]:
    """Metrics of a run with these scores of the source and the two targets."""
    return {f"{split}/{metric}/{language}": score for language, score in zip(LANGUAGES, scores, strict=False)}


class HandWritten:
    """The events of a search, line by line. A run without metrics has failed."""

    def __init__(self, resolved: dict, checksums: dict[str, str] | None = None, name: str = "", begin: float = 1e9):
        self.resolved, self.events, self.time = resolved, [], begin
        search = {
            "search_id": "5ea4c4",
            "name": name or resolved["name"],
            "command": "python run_search.py search demo",
        }
        search |= {"revision": "abc", "versions": {"python": "3.11"}, "specification": resolved, "session": 0}
        self.tell("search", **search, checksums={"task.data": "d" * 64} if checksums is None else checksums)

    def tell(self, event: str, **fields) -> None:
        self.time += 1.0
        self.events.append({"event": event, "time": self.time, **fields})

    def ask(self, config_id: str, **params) -> str:
        space = {key: self.resolved[key] for key in ("method", "space", "compat")}
        complete = params if "baseline" in params else _space(json.dumps(space)).complete(params)
        ask = sum(event["event"] == "ask" for event in self.events)
        self.tell("ask", config_id=config_id, params=complete, ask=ask, suggested={})
        return config_id

    def run(self, config_id: str, replicate: int, values: dict | None, *, status: str = "", steps: int = 0) -> None:
        run = {"config_id": config_id, "replicate": replicate, "phase": "confirm" if replicate >= 1000 else "search"}
        self.tell("start", **run)
        for step in range(1, steps + 1):
            self.tell("step", **run, step=step, epochs=steps, metrics=values)
        outcome = {"status": status or ("done" if values else "failed:nan"), "metrics": values or {}}
        self.tell("result", **run, **outcome, step=steps, seconds=2.0, error="" if values else "the loss is nan")

    def freeze(self, *configs: str, baselines: tuple[str, ...] = ()) -> None:
        self.tell("freeze", because="the budget is spent", configs=configs, baselines=baselines, estimates={})

    def end(self) -> None:
        self.tell("end", because="the budget is spent")

    @property
    def results(self) -> Results:
        state = self.state
        return recorded(state).parts.results(state)

    @property
    def state(self) -> State:
        return replay(self.events)

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(event) for event in self.events)
        (folder / "ledger.jsonl").write_text("\n".join(lines) + "\n")
        return folder


def demo(*changes: str, checksums: dict[str, str] | None = None, name: str = "") -> HandWritten:
    """A finished search with five configurations (two tied, one poor, one failing, one pruned) and a baseline."""
    search = HandWritten(specification(*changes), checksums, name)
    search.ask("good", k=50, weighting="softmax", tau=0.1)
    search.ask("same", k=40, weighting="softmax", tau=0.2)
    search.ask("poor", k=1)
    search.ask("bad", k=100, weighting="sparsemax", tau=0.5)
    search.ask("cut", k=2, weighting="standard")
    for replicate, noise in enumerate((0.0, 0.02, 0.01)):
        search.run("good", replicate, metrics("dev", 0.81 + noise, 0.61 + 2 * noise, 0.5 - noise), steps=2)
        search.run("same", replicate, metrics("dev", 0.82 - noise, 0.66 - noise, 0.45 + noise))
        search.run("poor", replicate, metrics("dev", 0.40 + noise, 0.30, 0.2) if replicate else None)
    search.run("bad", 0, None)
    search.run("cut", 0, metrics("dev", 0.9, 0.9, 0.9), status="pruned")
    search.ask("flat", baseline="constant")
    search.run("flat", 0, metrics("dev", 0.1, 0.1, 0.1))
    search.freeze("good", "same", baselines=("flat",))
    for replicate, noise in enumerate((0.0, 0.03, 0.01), start=1000):
        for config_id, score in (("good", 0.75), ("same", 0.74)):
            dev, test = metrics("dev", score + noise, 0.6, 0.5), metrics("test", score - noise, 0.55 + noise, 0.5)
            search.run(config_id, replicate, dev | test)
        search.run("flat", replicate, metrics("dev", 0.1, 0.1, 0.1) | metrics("test", 0.1, 0.1, 0.1))
    search.end()
    return search


def decomposed(runs: Mapping[str, Sequence[dict | None]], *changes: str) -> HandWritten:
    """A decomposition that has not ended: the metrics of the replicates by what varied, None where a run failed."""
    search = HandWritten(specification(*changes) | {"decompose": [stream for stream in runs if stream != "all"]})
    for ask, (stream, replicates) in enumerate(runs.items()):
        config_id, vary = ("c", None) if stream == "all" else (f"c-{stream}", stream)
        search.tell("ask", config_id=config_id, params={"k": 1}, ask=ask, suggested={}, vary=vary)
        for replicate, values in enumerate(replicates):
            search.run(config_id, replicate, values)
    return search
