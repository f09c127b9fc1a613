"""The best configuration as a file that reruns it, and what such a file says."""

import json
from pathlib import Path

from search import yaml12
from search.errors import RequestError
from search.files import write_atomically
from search.ledger import State
from search.method import method_class
from search.policy import FRESH
from search.report import SCORE, leaderboard, underspecification
from search.specification import Specification, from_dict
from search.standing import Standing
from spaces import config_id
from trainables.streams import Streams

DECOMPOSED = 8  # replicates per stream, at least: a variance needs more of them than a mean


def best(state: State, standing: Standing, folder: Path, path: Path) -> dict:
    """What goes to `path`: the best configuration, every seed and score behind it, and how it came about.

    The choice was made before the fresh seeds were run, so `confirmed` is free of the luck that a choice among many
    brings: `optimism` is by how much the search had promised more.
    """
    specification = state.search["specification"]
    selection = standing.selection
    rows = leaderboard(state, standing)
    if not rows:
        raise RequestError(f"{folder}: no run has finished yet. Try again when `status` shows one.")
    chosen = state.frozen[0] if state.frozen else rows[0]["config_id"]
    row = next(row for row in rows if row["config_id"] == chosen)
    runs = state.configurations[row["config_id"]].runs
    score = {name: row[name] for name in (*SCORE, "estimate", "estimate_low", "estimate_high", "p_best")}
    return {
        "name": specification["name"],
        "method": specification["method"],
        "config_id": row["config_id"],
        "params": row["params"],
        "selected_by": selection.label,
        "score": score | {"replicates": row["replicates"], "failed": row["failed"]},
        "confirmed": _confirmed(row),
        "tied_with": [other["config_id"] for other in rows if other["tied"] and other is not row],
        "compared": sum(not one["baseline"] for one in rows),
        "dev": {metric: of for metric, of in row["scores"].items() if metric.startswith("dev/")},
        "test": _tests(row),
        "underspecification": underspecification(state, standing),
        "baselines": [_baseline(one) for one in rows if one["baseline"] and one["fresh"]],
        "replicates": [
            {
                "replicate": replicate,
                "phase": runs[replicate].phase,
                "status": runs[replicate].status,
                "seeds": Streams(specification["seed"], replicate).all_seeds(),
                "metrics": runs[replicate].metrics,
            }
            for replicate in sorted(runs)
            if runs[replicate].finished
        ],
        "checksums": state.search["checksums"],
        "versions": state.search["versions"],
        "revision": state.search["revision"],
        "made_by": state.search["command"],
        "rerun_by": f"python run_search.py run {path}",
        "specification": {key: value for key, value in specification.items() if key != "tracking"},
    }


def _confirmed(row: dict) -> dict | None:
    """The score on fresh seeds, and how much of the search's score it did not keep; None before the confirmation."""
    if row["fresh"] is None:
        return None
    fresh = {name: row["fresh"][name] for name in ("replicates", *SCORE, "failed")}
    return fresh if row["baseline"] else fresh | {"optimism": row["estimate"] - fresh["mean"]}


def _baseline(row: dict) -> dict:
    """A baseline beside the best configuration: what it is, and its scores on the same fresh replicates."""
    return {"baseline": row["baseline"], "params": row["params"], "confirmed": _confirmed(row), "test": _tests(row)}


def _tests(row: dict) -> dict:
    """Test scores by metric and language, with intervals, from the fresh runs that got to the test."""
    if row["fresh"] is None:
        return {}
    return {metric: of for metric, of in row["fresh"]["scores"].items() if metric.startswith("test/")}


def write_best(state: State, standing: Standing, folder: Path, path: Path) -> None:
    content = yaml12.dump(best(state, standing, folder, path))
    write_atomically(
        path, "# The best configuration of a Seedwise search, with all that is needed to rerun it.\n" + content
    )


def read_best(path: Path) -> dict:
    """An exported configuration."""
    if not path.is_file():
        raise RequestError(f"{path}: no such file. Write the path of a best.yaml.")
    try:
        content = yaml12.load(path.read_text(encoding="utf-8"))
    except yaml12.YAMLError as error:
        raise RequestError(f"{path}: not YAML: {getattr(error, 'problem', error)}.") from error
    kinds = {
        "name": str,
        "config_id": str,
        "params": dict,
        "specification": dict,
        "checksums": dict,
        "replicates": list,
    }
    if (
        not isinstance(content, dict)
        or any(not isinstance(content.get(key), kind) for key, kind in kinds.items())
        or not content["replicates"]
    ):
        raise RequestError(f"{path}: not an exported configuration. Make one with `python run_search.py export DIR`.")
    return content


def rerun_specification(exported: dict, replicates: int | None, *, decompose: bool = False) -> Specification:
    """A search of nothing but the exported configuration, at its own replicates or at so many.

    With `decompose`, it is run once per stream of randomness that it uses, with only that one varied over replicates.
    """
    recorded = [one["replicate"] for one in exported["replicates"]]
    n = replicates or 1 + max(replicate for replicate in recorded if replicate < FRESH)
    fresh = 0 if replicates or decompose else sum(replicate >= FRESH for replicate in recorded)
    streams = []
    if decompose:
        n = replicates or max(n, DECOMPOSED)
        streams = list(method_class(exported["specification"]).streams_used(exported["params"]))
    specification = from_dict(
        {
            **exported["specification"],
            "name": f"{exported['name']}-{'decompose' if decompose else 'rerun'}",
            "space": "default",  # the parameters are complete: no override of the search has a say in them
            "enqueue": [exported["params"]],
            "sampler": "random",
            "budget": {"runs": n * (1 + len(streams)) + fresh},
            "replicates": {"policy": "fixed", "n": n, "confirm": {"top": min(1, fresh), "fresh": fresh or 1}},
            "prune": "off",
            "baselines": {},
            "decompose": streams,
        }
    )
    if config_id(specification.load_space().complete(exported["params"])) != exported["config_id"]:
        raise RequestError(
            "params: they are not those of config_id, so there are no scores to compare with. "
            "Undo the change, or search with enqueue: [{...}]."
        )
    return specification


def differences(exported: dict, state: State) -> tuple[int, list[str]]:
    """How many replicates both have, and a line for every metric there that differs in as much as its last bit."""
    runs = state.configurations[exported["config_id"]].runs
    shared = [recorded for recorded in exported["replicates"] if recorded["replicate"] in runs]
    lines = []
    for recorded in shared:
        run = runs[recorded["replicate"]]
        for name in sorted(recorded["metrics"].keys() | run.metrics.keys()):
            before, now = recorded["metrics"].get(name), run.metrics.get(name)
            if before != now:
                lines.append(f"replicate {run.replicate}: {name} was {json.dumps(before)}, is {json.dumps(now)}")
    return len(shared), lines
