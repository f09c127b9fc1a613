"""The formats of an exported configuration: yaml and json, which `run` takes, and hf, for transformers' Trainer."""

import json

from seedwise import yaml12
from seedwise.errors import RequestError
from seedwise.trainables.methods import built_in
from seedwise.trainables.training.options import OptimiserOptions

FORMATS = {"yaml": ".yaml", "json": ".json", "hf": ".hf.json"}  # and how their files end
HEADER = "# A configuration of a Seedwise search, with all that is needed to rerun it.\n"
RENAMED = {  # parameters that mean the same for transformers; warmup below 1 is a share there too
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
    """An exported configuration as the text of a file."""
    if form == "yaml":
        return HEADER + yaml12.dump(content)
    return json.dumps(training_arguments(content) if form == "hf" else content, indent=1, ensure_ascii=False) + "\n"


def training_arguments(content: dict) -> dict:
    """Keys of transformers.TrainingArguments where a parameter has one; the rest under the one key `seedwise`.

    The Trainer has a single seed and draws other numbers from it than our streams do: `seed` is the search's, and
    scores will not agree to the last digit.
    """
    specification, spec = content["specification"], built_in(content["method"])
    known = {}
    if spec and spec.export and issubclass(spec.options, OptimiserOptions):  # else names may mean something else
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
