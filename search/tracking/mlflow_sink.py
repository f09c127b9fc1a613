"""The MLflow runs of one search: found, created, completed and closed."""

import contextlib
import fcntl
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from seedwise.search.drawing import svg
from seedwise.search.tracking.mirror import SCORE, TOP, Entry, Key, Mirror

WRITTEN = "seedwise.ledger"  # tag of the search's run: up to where the ledger is in MLflow, in whole
EXPERIMENT_TAGS = {
    "mlflow.experiment.primaryMetric.name": SCORE,
    "mlflow.experiment.primaryMetric.greaterIsBetter": "True",
    "mlflow.experimentKind": "custom_model_development",  # the UI opens on the runs and not on traces
}


class Store:
    """The MLflow runs of one search: looked up once, then created, completed and closed as the mirror asks for."""

    def __init__(self, uri: str, name: str, search_id: str, artifacts: str | None = None) -> None:
        from mlflow import MlflowClient

        logging.getLogger("mlflow").setLevel(logging.WARNING)  # that it creates tables is no news
        with _alone(uri):
            self._client = MlflowClient(without_credentials(uri))
            experiment = self._client.get_experiment_by_name(name)
            if experiment and experiment.lifecycle_stage != "active":
                command = f"mlflow experiments restore -x {experiment.experiment_id}"
                raise RuntimeError(f"experiment {name!r} is deleted; bring it back with `{command}`")
            self._experiment = experiment.experiment_id if experiment else self._create_experiment(uri, name, artifacts)
        for key, value in EXPERIMENT_TAGS.items():
            if not experiment or key not in experiment.tags:
                self._client.set_experiment_tag(self._experiment, key, value)
        self._ids: dict[Key, str] = {}
        self._statuses: dict[Key, tuple[str, int | None]] = {}  # and when it ended, in milliseconds
        self.written = ""
        self._look_up(search_id)

    def within(self, other: "Store") -> bool:
        """Whether another look at the store finds what this one knows to be there."""
        return self.written == other.written and self._ids.keys() <= other._ids.keys()

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
            for picture in svg.read(folder, *mirror.drawn[0]):
                run_id, name = self._run_id(mirror.drawn[0], mirror), f"pictures/{picture['name']}.svg"
                self._client.log_text(run_id, svg.svg(picture), name)
            mirror.drawn.pop(0)
        if self.written != mirror.position:
            self._client.set_tag(self._run_id(TOP, mirror), WRITTEN, mirror.position)
            self.written = mirror.position

    def _create_experiment(self, uri: str, name: str, artifacts: str | None) -> str:
        """Artifacts go where the specification says; else those of a sqlite store next to it, a server has its place.

        Only the first search of an experiment decides: MLflow cannot move them later.
        """
        if artifacts is None and uri.startswith("sqlite:"):
            artifacts = (Path(uri.removeprefix("sqlite:///")).parent / "mlartifacts").as_uri()
        return self._client.create_experiment(name, artifacts)

    def _look_up(self, search_id: str) -> None:
        """Find this search's runs. A run that is there twice was created by a request whose answer got lost."""
        runs = runs_of(self._client, self._experiment, search_id)
        for run in sorted(runs, key=lambda run: (-len(run.data.metrics) - len(run.data.params), run.info.run_id)):
            key = _key(run.data.tags)
            if key in self._ids:
                self._client.delete_run(run.info.run_id)
                continue
            self._ids[key], self._statuses[key] = run.info.run_id, (run.info.status, run.info.end_time)
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
            self._ids[key], self._statuses[key] = run.info.run_id, (run.info.status, run.info.end_time)
            mirror.pending.setdefault(key, Entry()).opening = True
        return self._ids[key]

    def _write_entry(self, key: Key, mirror: Mirror) -> None:
        """One request, unless it is larger than MLflow's limits: its client cuts it then."""
        from mlflow.entities import Metric, Param, RunTag

        run_id, entry, identity = self._run_id(key, mirror), mirror.pending[key], mirror.identities[key]
        if entry.opening and identity.datasets:
            self._client.log_inputs(run_id, [_dataset(*one) for one in identity.datasets])
        self._client.log_batch(
            run_id,
            [Metric(*point) for point in entry.points],
            [Param(*item) for item in identity.params.items()] if entry.opening else [],
            [RunTag(*item) for item in entry.tags.items()],
        )

    def _set_status(self, key: Key, mirror: Mirror, *, last: bool) -> None:
        status, moment = mirror.status(key, last=last)
        wanted = (status, None if status == "RUNNING" else moment)
        if self._statuses.get(key) in (wanted, None):
            return  # it has it, or somebody deleted the run in MLflow and it has nothing new to say
        if status == "RUNNING":
            self._client.update_run(self._ids[key], status)
        else:
            self._client.set_terminated(self._ids[key], status, moment)
        self._statuses[key] = wanted


def runs_of(client: "MlflowClient", experiment: str, search_id: str) -> "list[Run]":  # noqa: F821
    """All MLflow runs of a search, on all three levels, in the order in which they began."""
    token, runs = None, []
    while token != "":
        page = client.search_runs(
            [experiment],
            f"tags.`seedwise.search_id` = '{search_id}'",
            max_results=1000,
            order_by=["attributes.start_time ASC"],
            page_token=token,
        )
        runs, token = [*runs, *page], page.token or ""
    return runs


def _key(tags: dict[str, str]) -> Key:
    return tuple(kind(tags[name]) for name, kind in (("config_id", str), ("replicate", int)) if name in tags)


def _dataset(key: str, path: str, digest: str) -> "DatasetInput":  # noqa: F821 (imported where it is needed)
    from mlflow.entities import Dataset, DatasetInput, InputTag

    source = json.dumps({"uri": path})
    return DatasetInput(Dataset(path, digest, "local", source), [InputTag("mlflow.data.context", key)])


@contextlib.contextmanager
def _alone(uri: str) -> Iterator[None]:
    """Two searches that begin at once must not create one database twice: its folder is locked meanwhile."""
    if not uri.startswith("sqlite:"):
        yield
        return
    folder = os.open(Path(uri.removeprefix("sqlite:///")).parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def without_credentials(uri: str) -> str:
    """The address of a server with its user and password moved to where MLflow looks for them and never prints them."""
    parts = urlsplit(uri)
    if parts.scheme not in ("http", "https") or parts.username is None:
        return uri
    os.environ["MLFLOW_TRACKING_USERNAME"] = unquote(parts.username)
    os.environ["MLFLOW_TRACKING_PASSWORD"] = unquote(parts.password or "")
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
