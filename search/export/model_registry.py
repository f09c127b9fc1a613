"""Registers exported models in MLflow's model registry, for deployment from there."""

import logging
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seedwise.credentials import mask
from seedwise.errors import RequestError
from seedwise.process import quiet
from seedwise.program import called
from seedwise.search.ledger.state import State
from seedwise.search.tracking.mlflow_sink import for_mlflow, runs_of, without_credentials
from seedwise.search.tracking.trackers import address_of
from seedwise.trainables.methods import built_in

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

LONGEST_DESCRIPTION = 5000  # characters


def check_name(name: str) -> None:
    """Refuse an invalid name before a model is trained for it."""
    if not re.fullmatch(r"[\w.-][\w. -]*", name):
        fix = "Write letters, digits, dots, dashes and underscores."
        raise RequestError(f"--register {name}", "MLflow does not accept this name", fix)


@for_mlflow()
def register(state: State, exported: dict, replicate: int, folders: Sequence[Path], name: str) -> list[str]:
    """Register exported model folders as new versions of `name`, or of `name`-LANGUAGE if there are several.

    The files become artifacts of the run with this replicate or, if the search has none, of its configuration. Returns
    addresses for `mlflow.transformers.load_model`.
    """
    from mlflow import MlflowClient, MlflowException
    from mlflow.transformers import save_model
    from transformers import pipeline

    uri = address_of(state.search["specification"]["tracking"]["uri"])
    versions = {package: exported["versions"][package] for package in ("transformers", "torch")}
    requirements = [f"{package}=={version.partition('+')[0]}" for package, version in versions.items()]
    spec = built_in(exported["method"])
    task = spec.export.pipeline if spec and spec.export else "feature-extraction"
    client, registered = MlflowClient(without_credentials(uri)), []
    try:
        run = _run(client, state.search, exported["config_id"], replicate)
        for folder in folders:
            title = name if len(folders) == 1 else f"{name}-{folder.name}"
            # MLflow warns that the hub has no card for this model. The folder has it.
            with tempfile.TemporaryDirectory() as temporary, quiet(logging.ERROR, "mlflow"):
                path = f"{temporary}/model"
                # A pipeline and not the folder: MLflow 3.17 cannot read the folder's task with transformers 5.23.
                save_model(pipeline(task, model=str(folder)), path, task=task, pip_requirements=requirements)
                client.log_artifacts(run.info.run_id, path, f"models/{folder.name}")
            if not client.search_registered_models(f"name = '{title}'"):
                client.create_registered_model(title)
            card = (folder / "README.md").read_text(encoding="utf-8").partition("\n---\n")[2].strip()
            version = client.create_model_version(
                title,
                f"{run.info.artifact_uri}/models/{folder.name}",
                run.info.run_id,
                tags={"config_id": exported["config_id"], "replicate": str(replicate), "search": state.search["name"]},
                description=card[:LONGEST_DESCRIPTION],
            )
            registered.append(f"models:/{title}/{version.version}")
    except MlflowException as error:
        raise RequestError(f"--register {name}", f"{mask(uri)} refuses it ({mask(str(error), uri)[:200]})") from error
    return registered


def _run(client: "MlflowClient", search: dict, config_id: str, replicate: int) -> "Run":
    """The MLflow run of a configuration at a replicate or, if it is missing, of the configuration."""
    experiment = client.get_experiment_by_name(search["name"])
    runs = runs_of(client, experiment.experiment_id, search["search_id"]) if experiment else []
    own = {run.data.tags.get("replicate", ""): run for run in runs if run.data.tags.get("config_id") == config_id}
    chosen = own.get(str(replicate)) or own.get("")
    if chosen is None:
        fix = f"Add it with: {called('track', 'DIR')}"
        raise RequestError("--register", "MLflow does not have this search", fix)
    return chosen
