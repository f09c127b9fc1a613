"""The formats of an exported configuration: yaml and json for `run`, and hf for the Trainer of transformers."""

import json

from seedwise import yaml12
from seedwise.errors import RequestError
from seedwise.trainables.methods import built_in
from seedwise.trainables.training.options import OptimiserOptions

FORMATS = {"yaml": ".yaml", "json": ".json", "hf": ".hf.json"}  # format -> file ending
HEADER = "# A configuration of a Seedwise search, with all that is needed to rerun it.\n"
RENAMED = {  # our parameter -> the same in transformers, where a warmup below 1 is also a share
    "lr": "learning_rate",
    "weight_decay": "weight_decay",
    "clip": "max_grad_norm",
    "warmup": "warmup_steps",
}
KEPT = ("name", "method", "model", "task", "checksums", "config_id", "rank", "params", "selected_by", "score")
KEPT += ("confirmed", "tied_with", "dev", "test", "versions", "revision", "made_by")


def check_format(form: str) -> None:
    if form not in FORMATS:
        raise RequestError(f"--format {form}", "there is no such format", f"Write one of {', '.join(FORMATS)}.")


def as_text(content: dict, form: str) -> str:
    """The text of the file of an exported configuration."""
    if form == "yaml":
        return HEADER + yaml12.dump(content)
    return json.dumps(training_arguments(content) if form == "hf" else content, indent=1, ensure_ascii=False) + "\n"


def training_arguments(content: dict) -> dict:
    """The parameters that transformers.TrainingArguments knows, under its names, and the rest under `seedwise`.

    `seed` is the seed of the search. The Trainer has a single seed and draws other numbers from it than our streams
    do, so scores differ slightly.
    """
    specification, spec = content["specification"], built_in(content["method"])
    known = {}
    if spec and spec.export and issubclass(spec.options, OptimiserOptions):  # else names may differ in meaning
        known = _known(content["params"]) | spec.export.arguments(content["params"])
    return {
        **known,
        "seed": specification["seed"],
        "metric_for_best_model": specification["select"]["metric"],
        "greater_is_better": True,
        "seedwise": {key: content[key] for key in KEPT}
        | {"seeds": {run["replicate"]: run["seeds"] for run in content["replicates"]}},
    }


def _known(params: dict) -> dict:
    warmed = params["schedule"] == "constant" and params["warmup"] > 0
    known = {theirs: params[ours] for ours, theirs in RENAMED.items() if ours in params} | {
        "lr_scheduler_type": "constant_with_warmup" if warmed else params["schedule"],
        "gradient_checkpointing": bool(params["gradient_checkpointing"]),
    }
    if params["precision"] != "fp32":
        known[params["precision"]] = True
    return known
