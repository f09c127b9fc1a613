"""The formats of an exported configuration: yaml and json, which `run` takes, and hf, for transformers' Trainer."""

import json

from seedwise import yaml12
from seedwise.errors import RequestError
from seedwise.trainables.methods import built_in
from seedwise.trainables.training.options import OptimiserOptions

FORMATS = {"yaml": ".yaml", "json": ".json", "hf": ".hf.json"}  # and how their files end
HEADER = "# A configuration of a Seedwise search, with all that is needed to rerun it.\n"
SAME = {"lr": "learning_rate", "weight_decay": "weight_decay", "clip": "max_grad_norm", "warmup": "warmup_steps"}


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

    The Trainer has one seed, and does not draw from it what our streams draw: `seed` is the search's, and the scores
    are not to be expected to the last digit.
    """
    kept = ("name", "method", "model", "task", "checksums", "config_id", "rank", "params", "selected_by", "score")
    kept += ("confirmed", "tied_with", "dev", "test", "versions", "revision", "made_by")
    seed = content["specification"]["seed"]
    own = {key: content[key] for key in kept}
    own["seeds"] = {one["replicate"]: one["seeds"] for one in content["replicates"]}
    metric = {"metric_for_best_model": content["specification"]["select"]["metric"], "greater_is_better": True}
    known = _known(content["params"]) if _trains(content["method"]) else {}
    return {**known, "seed": seed, **metric, "seedwise": own}


def _trains(method: str | dict) -> bool:
    """Whether parameters of a method mean what these names say."""
    spec = built_in(method)
    return spec is not None and issubclass(spec.options, OptimiserOptions)


def _known(params: dict) -> dict:
    found = {theirs: params[ours] for ours, theirs in SAME.items() if ours in params}  # warmup below 1 is a share
    warmed = params["schedule"] == "constant" and params["warmup"] > 0
    found["lr_scheduler_type"] = "constant_with_warmup" if warmed else params["schedule"]
    found["gradient_checkpointing"] = bool(params["gradient_checkpointing"])
    if params["precision"] != "fp32":
        found[params["precision"]] = True
    if "steps" in params:  # continued pretraining: `blocks` of text per update, `block_batch` at a time
        whole = params["blocks"] % params["block_batch"] == 0
        batch = params["block_batch"] if whole else params["blocks"]
        accumulation = params["blocks"] // batch
        found["max_steps"] = params["steps"]
    else:
        batch, accumulation = params["batch_size"], params["accumulation"]
        found["num_train_epochs"] = params["epochs"]
    return {**found, "per_device_train_batch_size": batch, "gradient_accumulation_steps": accumulation}
