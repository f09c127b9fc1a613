"""The MLflow runs of one search: found, created, completed and closed."""

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from search import pictures
from search.follow import SCORE, TOP, Entry, Key, Mirror

WRITTEN = "seedwise.ledger"  # tag of the search's run: up to where the ledger is in MLflow, in whole
EXPERIMENT_TAGS = {
    "mlflow.experiment.primaryMetric.name": SCORE,
    "mlflow.experiment.primaryMetric.greaterIsBetter": "True",
    "mlflow.experimentKind": "custom_model_development",  # the UI opens on the runs and not on traces
}


class Store:
    """The MLflow runs of one search: looked up once, then created, completed and closed as the mirror asks for."""

    def __init__(self, uri: str, name: str, search_id: str) -> None:
        from mlflow import MlflowClient

        self._client = MlflowClient(_without_credentials(uri))
        experiment = self._client.get_experiment_by_name(name)
        if experiment and experiment.lifecycle_stage != "active":
            command = f"mlflow experiments restore -x {experiment.experiment_id}"
            raise RuntimeError(f"experiment {name!r} is deleted; bring it back with `{command}`")
        self._experiment = experiment.experiment_id if experiment else self._create_experiment(uri, name)
        for key, value in EXPERIMENT_TAGS.items():
            if not experiment or key not in experiment.tags:
                self._client.set_experiment_tag(self._experiment, key, value)
        self._ids: dict[Key, str] = {}
        self._statuses: dict[Key, str] = {}
        self.written = ""
        self._look_up(search_id)

    def write(self, mirror: Mirror, folder: Path, *, last: bool) -> None:
        """Write what is pending, taking it off the mirror piece by piece, and only then note how far that reaches."""
        while mirror.pending:
            key = next(iter(mirror.pending))
            self._write_entry(key, mirror)
            self._set_status(key, mirror, last=last)
            del mirror.pending[key]
        if last or mirror.state.finished:
            for key in mirror.identities:
                self._set_status(key, mirror, last=last)
        while mirror.files:
            if (folder / mirror.files[0]).exists():
                self._client.log_artifact(self._run_id(TOP, mirror), str(folder / mirror.files[0]))
            mirror.files.pop(0)
        while mirror.drawn:
            for picture in pictures.read(folder, *mirror.drawn[0]):
                run_id, name = self._run_id(mirror.drawn[0], mirror), f"pictures/{picture['name']}.svg"
                self._client.log_text(run_id, pictures.svg(picture), name)
            mirror.drawn.pop(0)
        if self.written != mirror.position:
            self._client.set_tag(self._run_id(TOP, mirror), WRITTEN, mirror.position)
            self.written = mirror.position

    def _create_experiment(self, uri: str, name: str) -> str:
        """Artifacts of a sqlite store lie next to it, wherever this process runs; a server has its own place."""
        location = Path(uri.removeprefix("sqlite:///")).parent / "mlartifacts"
        return self._client.create_experiment(name, location.as_uri() if uri.startswith("sqlite:") else None)

    def _look_up(self, search_id: str) -> None:
        """Find this search's runs. A run that is there twice was created by a request whose answer got lost."""
        token, runs = None, []
        while token != "":
            page = self._client.search_runs(
                [self._experiment], f"tags.`seedwise.search_id` = '{search_id}'", max_results=1000, page_token=token
            )
            runs, token = [*runs, *page], page.token or ""
        for run in sorted(runs, key=lambda run: (-len(run.data.metrics) - len(run.data.params), run.info.run_id)):
            key = _key(run.data.tags)
            if key in self._ids:
                self._client.delete_run(run.info.run_id)
                continue
            self._ids[key], self._statuses[key] = run.info.run_id, run.info.status
            if key == TOP:
                self.written = run.data.tags.get(WRITTEN, "")

    def _run_id(self, key: Key, mirror: Mirror) -> str:
        """The MLflow run of a key, created if it is missing, and its parents before it."""
        if key not in self._ids:
            identity = mirror.identities[key]
            tags = {**identity.tags, "mlflow.runName": identity.name}
            if key != TOP:
                tags["mlflow.parentRunId"] = self._run_id(key[:-1], mirror)
            run = self._client.create_run(self._experiment, start_time=identity.start, tags=tags)
            self._ids[key], self._statuses[key] = run.info.run_id, run.info.status
            mirror.pending.setdefault(key, Entry()).opening = True
        return self._ids[key]

    def _write_entry(self, key: Key, mirror: Mirror) -> None:
        """One request, unless it is larger than MLflow's limits: its client cuts it then."""
        from mlflow.entities import Metric, Param, RunTag

        run_id, entry = self._run_id(key, mirror), mirror.pending[key]
        self._client.log_batch(
            run_id,
            [Metric(*point) for point in entry.points],
            [Param(*item) for item in mirror.identities[key].params.items()] if entry.opening else [],
            [RunTag(*item) for item in entry.tags.items()],
        )

    def _set_status(self, key: Key, mirror: Mirror, *, last: bool) -> None:
        status, moment = mirror.status(key, last=last)
        if self._statuses.get(key) in (status, None):
            return  # it has it, or somebody deleted the run in MLflow and it has nothing new to say
        if status == "RUNNING":
            self._client.update_run(self._ids[key], status)
        else:
            self._client.set_terminated(self._ids[key], status, moment)
        self._statuses[key] = status


def _key(tags: dict[str, str]) -> Key:
    return tuple(kind(tags[name]) for name, kind in (("config_id", str), ("replicate", int)) if name in tags)


def _without_credentials(uri: str) -> str:
    """The address of a server with its user and password moved to where MLflow looks for them and never prints them."""
    parts = urlsplit(uri)
    if parts.scheme not in ("http", "https") or parts.username is None:
        return uri
    os.environ["MLFLOW_TRACKING_USERNAME"] = unquote(parts.username)
    os.environ["MLFLOW_TRACKING_PASSWORD"] = unquote(parts.password or "")
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
