"""Reruns an exported configuration: reads it, checks its inputs, builds the search, and compares the scores."""

import copy
import json
from collections.abc import Iterable
from pathlib import Path

from seedwise import yaml12
from seedwise.errors import RequestError
from seedwise.imports import importable
from seedwise.program import called
from seedwise.renamed_keys import with_new_names
from seedwise.search.decide.policy import FRESH, replicate_name
from seedwise.search.ledger.state import State
from seedwise.search.spec.load import from_dict, set_all
from seedwise.search.spec.schema import Specification
from seedwise.spaces import config_id
from seedwise.validation import request_errors

LEAST_DECOMPOSED = 8  # replicates per stream: a variance needs more replicates than a mean
SHORT = 10  # characters of a checksum in messages
SEARCH_AGAIN = "a rerun uses the method and the parameters of its file", "Leave it out, or start a search with it."
COUNT = "a rerun uses the replicates of its file", "Set their number with --replicates N."
ALONE = "a rerun has one configuration", "Leave it out, or start a search with it."
FIXED = {  # keys that --set cannot change: the reason, and the fix
    **dict.fromkeys(("method", "space", "compat", "enqueue"), SEARCH_AGAIN),
    **dict.fromkeys(("sampler", "prune", "baselines"), ALONE),
    **dict.fromkeys(("budget", "replicates"), COUNT),
    "seed": ("a rerun uses the seeds of its file", "Leave it out; for more seeds: --replicates N."),
    "decompose": ("--decompose varies every stream that the method uses", "Leave it out."),
    "landscape": ("a rerun has no landscape", "Use the command landscape, which takes the same file."),
}
TYPES = {"name": str, "config_id": str, "params": dict, "specification": dict, "checksums": dict, "replicates": list}


def read_best(path: Path) -> dict:
    """Read an exported configuration from a YAML file or, if its name ends in .json, a JSON file."""
    if not path.is_file():
        raise RequestError(str(path), "no such file", "Write the path of a best.yaml.")
    kind = "JSON" if path.suffix == ".json" else "YAML"
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if kind == "JSON" else yaml12.load(text)
    except (yaml12.YAMLError, ValueError) as error:
        raise RequestError(str(path), f"not {kind}: {getattr(error, 'problem', error)}", "Export it again.") from error
    content = content if isinstance(content, dict) else {}
    if "seedwise" in content:
        fix = "Export it as yaml or json to rerun it."
        raise RequestError(str(path), "this is for transformers (--format hf)", fix)
    if not all(isinstance(content.get(key), kind) for key, kind in TYPES.items()) or not content["replicates"]:
        raise RequestError(str(path), "not an exported configuration", f"Make one with: {called('export', 'DIR')}")
    return content | {"specification": with_new_names(content["specification"])}


def other_inputs(exported: dict, now: dict[str, str]) -> list[str]:
    """The inputs that differ from the exported configuration, with the recorded and the current (`now`) checksums."""
    before = exported["checksums"]
    return [
        f"{key} (was {before.get(key, 'no file')[:SHORT]}, is {now.get(key, 'no file')[:SHORT]})"
        for key in sorted(before.keys() | now.keys())
        if before.get(key) != now.get(key)
    ]


@importable()
def rerun_specification(
    exported: dict, replicates: int | None, settings: Iterable[str] = (), *, decompose: bool = False
) -> Specification:
    """A search of the exported configuration alone, at its recorded replicates or at the given number of replicates.

    `settings` (KEY=VALUE) change other keys of its specification, such as `select.on`. With `decompose`, the
    configuration also runs once for each stream of randomness, varying only that stream over replicates.
    """
    for setting in settings:
        key = setting.partition("=")[0]
        if reason := FIXED.get(key.split(".")[0]):
            raise RequestError(f"--set {key}", *reason)
    recorded = [run["replicate"] for run in exported["replicates"]]
    n = replicates or 1 + max(replicate for replicate in recorded if replicate < FRESH)
    fresh = 0 if replicates or decompose else sum(replicate >= FRESH for replicate in recorded)
    streams = []
    if decompose:
        n = replicates or max(n, LEAST_DECOMPOSED)
        with request_errors(model=Specification):
            method = Specification.model_validate(exported["specification"]).parts.method
        streams = list(method.streams_used(exported["params"]))
    content = copy.deepcopy(exported["specification"])
    content.update(
        {
            "name": f"{exported['name']}-{'decompose' if decompose else 'rerun'}",
            "space": exported["params"],  # fixed, so inputs that only other configurations need are not read
            "compat": "ours",  # has no effect, since the parameters are complete
            "enqueue": [exported["params"]],
            "sampler": "random",
            "budget": {"runs": n * (1 + len(streams)) + fresh},
            "replicates": {"policy": "fixed", "n": n, "confirm": {"top": min(1, fresh), "fresh": fresh or 1}},
            "prune": "off",
            "baselines": {},
            "decompose": streams,
        }
    )
    set_all(content, settings)
    specification = from_dict(content)
    if config_id(specification.parts.space.complete(exported["params"])) != exported["config_id"]:
        problem = "they do not match config_id, so there are no scores to compare with"
        raise RequestError("params", problem, "Undo the change, or search with enqueue: [{...}].")
    return specification


def differences(exported: dict, state: State) -> tuple[int, list[str]]:
    """The number of replicates in both, and a line for every metric that differs there, even in its last bit."""
    runs = state.configurations[exported["config_id"]].runs
    shared = [recorded for recorded in exported["replicates"] if recorded["replicate"] in runs]
    lines = []
    for recorded in shared:
        run = runs[recorded["replicate"]]
        for name in sorted(recorded["metrics"].keys() | run.metrics.keys()):
            before, now = recorded["metrics"].get(name), run.metrics.get(name)
            if before != now:
                lines.append(f"{replicate_name(run.replicate)}: {name} was {json.dumps(before)}, is {json.dumps(now)}")
    return len(shared), lines
