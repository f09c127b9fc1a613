"""MLflow as a tracker: finds, creates, completes and closes the MLflow runs of one search."""

import contextlib
import fcntl
import json
import logging
import math
import os
import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from seedwise.credentials import check_address, mask
from seedwise.errors import RequestError
from seedwise.process import environment
from seedwise.search.drawing import svg
from seedwise.search.ledger.state import DONE, INTERRUPTED, RUNNING
from seedwise.search.tracking.mirror import DESCRIPTION, SCORE
from seedwise.search.tracking.sink import FAILED, TOP, Input, Key, Node, Tracker, Update

SEARCH_ID, PARENT = "seedwise.search_id", "mlflow.parentRunId"  # tags
WRITTEN = "seedwise.ledger"  # tag of the search's run: the last marked position in the ledger
EXPERIMENT_TAGS = {
    "mlflow.experiment.primaryMetric.name": SCORE,
    "mlflow.experiment.primaryMetric.greaterIsBetter": "True",
    "mlflow.experimentKind": "custom_model_development",  # makes the UI open on runs instead of traces
}
LEVELS = ("search", "configuration", "run")  # by the length of the key
STATUSES = {RUNNING: "RUNNING", DONE: "FINISHED", FAILED: "FAILED", INTERRUPTED: "KILLED"}
OWN_TAGS = {DESCRIPTION: "mlflow.note.content"}  # shown as the run's description
MAX_NAME, MAX_PARAMETER, MAX_TAG = 250, 6000, 8000  # MLflow's limits
CREDENTIALS = ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD")  # where MLflow looks for them
ENVIRONMENT = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",  # the follower retries; MLflow's retries would block for minutes
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # saves one request per run
    "MLFLOW_DISABLE_TELEMETRY": "true",
}
DIGEST = 16  # characters of a SHA-256, enough to distinguish files; MLflow takes 36


class MlflowSink:
    """The MLflow runs of one search: looked up once, then created, completed and closed by updates.

    `search` is the ledger's first event, `folder` the search folder with files and pictures.
    """

    def __init__(self, uri: str, search: Mapping, folder: Path) -> None:
        from mlflow import MlflowClient

        logging.getLogger("mlflow").setLevel(logging.WARNING)  # hides its messages on creating tables
        name, artifacts = search["name"], search["specification"]["tracking"].get("artifacts")
        with _locked(uri):
            self._client = MlflowClient(without_credentials(uri))
            experiment = self._client.get_experiment_by_name(name)
            if experiment and experiment.lifecycle_stage != "active":
                command = f"mlflow experiments restore -x {experiment.experiment_id}"
                raise RuntimeError(f"experiment {name!r} is deleted; bring it back with `{command}`")
            if artifacts and not uri.startswith("http") and not urlsplit(artifacts).scheme:  # relative to the search
                artifacts = (Path(search.get("folder", "")) / artifacts).absolute().as_uri()
            self._experiment = experiment.experiment_id if experiment else self._create_experiment(uri, name, artifacts)
        for key, value in EXPERIMENT_TAGS.items():
            if not experiment or key not in experiment.tags:
                self._client.set_experiment_tag(self._experiment, key, value)
        self._search_id, self._folder = search["search_id"], folder
        self._ids: dict[Key, str] = {}
        self._statuses: dict[Key, tuple[str, int | None]] = {}  # status and end in milliseconds
        self._incomplete: dict[Key, tuple[Collection[str], str | None]] = {}  # parameters and parent in MLflow
        self.position = ""
        self._look_up()

    def known(self) -> frozenset[Key]:
        return frozenset(self._ids)

    def write(self, updates: Sequence[Update], nodes: Mapping[Key, Node]) -> None:
        for update in updates:
            run_id = self._run_id(update.key, nodes)
            self._log(run_id, update, nodes)
            if update.status:
                self._set_status(update)
            for name in update.files:
                if (self._folder / name).exists():
                    self._client.log_artifact(run_id, str(self._folder / name))
            for picture in svg.read(self._folder, *update.key) if update.pictures else ():
                self._client.log_text(run_id, svg.svg(picture), f"pictures/{picture['name']}.svg")

    def mark(self, position: str) -> None:
        self._client.set_tag(self._ids[TOP], WRITTEN, position)
        self.position = position

    def _create_experiment(self, uri: str, name: str, artifacts: str | None) -> str:
        """Create an experiment. By default, artifacts go next to a sqlite store, or where the server stores artifacts.

        The first search of an experiment decides: MLflow cannot move artifacts later.
        """
        if artifacts is None and uri.startswith("sqlite:"):
            artifacts = (Path(uri.removeprefix("sqlite:///")).parent / "mlartifacts").as_uri()
        return self._client.create_experiment(name, artifacts)

    def _look_up(self) -> None:
        """Find the runs of this search, and delete duplicates, which come from requests whose answers were lost."""
        runs = runs_of(self._client, self._experiment, self._search_id)
        for run in sorted(runs, key=lambda run: (-len(run.data.metrics) - len(run.data.params), run.info.run_id)):
            key = _key(run.data.tags)
            if key in self._ids:
                self._client.delete_run(run.info.run_id)
                continue
            self._remember(key, run)
            if key == TOP:
                self.position = run.data.tags.get(WRITTEN, "")

    def _remember(self, key: Key, run: "Run") -> None:  # noqa: F821
        self._ids[key], self._statuses[key] = run.info.run_id, (run.info.status, run.info.end_time)
        self._incomplete[key] = run.data.params, run.data.tags.get(PARENT)

    def _run_id(self, key: Key, nodes: Mapping[Key, Node]) -> str:
        """The id of the MLflow run of a key. A missing run is created, after its parents."""
        if key not in self._ids:
            node = nodes[key]
            tags = _tags(node.tags) | {SEARCH_ID: self._search_id, "level": LEVELS[len(key)]}
            tags |= dict(zip(("config_id", "replicate"), map(str, key), strict=False)) | self._parent(key, nodes)
            tags["mlflow.runName"] = node.name[:MAX_NAME]
            self._remember(key, self._client.create_run(self._experiment, start_time=node.start, tags=tags))
        return self._ids[key]

    def _parent(self, key: Key, nodes: Mapping[Key, Node]) -> dict[str, str]:
        return {} if key == TOP else {PARENT: self._run_id(key[:-1], nodes)}

    def _log(self, run_id: str, update: Update, nodes: Mapping[Key, Node]) -> None:
        """Write an update in one request, which MLflow's client splits if it exceeds a limit."""
        from mlflow.entities import Metric, Param, RunTag

        node, params, tags = nodes[update.key], {}, _tags(update.tags)
        if update.key in self._incomplete:  # not yet written by this process: parameters may be missing
            known, parent = self._incomplete[update.key]
            params = {name: text for name, text in _params(node.params).items() if name not in known}
            if (now := self._parent(update.key, nodes)).get(PARENT) != parent:
                tags |= now  # the parent was deleted and created again
            if node.inputs and not known:
                self._client.log_inputs(run_id, list(map(_dataset, node.inputs)))
        # No infinity: MLflow stores it as 1.8e308, which ruins every chart.
        points = [Metric(_name(name), *rest) for name, *rest in update.points if _is_shown(update.key, rest[0])]
        if params or points or tags:
            params, tags = [Param(*item) for item in params.items()], [RunTag(*item) for item in tags.items()]
            self._client.log_batch(run_id, points, params, tags)
        self._incomplete.pop(update.key, None)

    def _set_status(self, update: Update) -> None:
        key, status = update.key, STATUSES[update.status]
        wanted = (status, None if status == "RUNNING" else update.moment)
        if self._statuses[key] == wanted:
            return
        if status == "RUNNING":
            self._client.update_run(self._ids[key], status)
        else:
            self._client.set_terminated(self._ids[key], status, update.moment)
        self._statuses[key] = wanted


def runs_of(client: "MlflowClient", experiment: str, search_id: str) -> "list[Run]":  # noqa: F821
    """All MLflow runs of a search, on all three levels, in order of start time."""
    token, runs = None, []
    while token != "":
        page = client.search_runs(
            [experiment],
            f"tags.`{SEARCH_ID}` = '{search_id}'",
            max_results=1000,
            order_by=["attributes.start_time ASC"],
            page_token=token,
        )
        runs, token = [*runs, *page], page.token or ""
    return runs


def _key(tags: dict[str, str]) -> Key:
    return tuple(kind(tags[name]) for name, kind in (("config_id", str), ("replicate", int)) if name in tags)


def _dataset(file: Input) -> "DatasetInput":  # noqa: F821
    from mlflow.entities import Dataset, DatasetInput, InputTag

    dataset = Dataset(file.path, file.checksum[:DIGEST], "local", json.dumps({"uri": file.path}))
    return DatasetInput(dataset, [InputTag("mlflow.data.context", _name(file.key))])


def _is_shown(key: Key, value: float) -> bool:
    """Whether a value is written. On the search, NaN says that the best configuration has no such value."""
    return math.isfinite(value) or (key == TOP and math.isnan(value))


def _name(text: str) -> str:
    """Turn `text` into a name that MLflow accepts: only certain characters, and no path to another folder."""
    return posixpath.normpath(re.sub(r"[^\w\-. :/]", "_", text)).lstrip("./")[:MAX_NAME] or "_"


def _params(params: Mapping[str, str]) -> dict[str, str]:
    return {_name(name): text[:MAX_PARAMETER] for name, text in params.items()}


def _tags(tags: Mapping[str, str]) -> dict[str, str]:
    return {OWN_TAGS.get(name, name): text[:MAX_TAG] for name, text in tags.items()}


@contextlib.contextmanager
def _locked(uri: str) -> Iterator[None]:
    """A block that locks the folder of a sqlite store, so that two searches do not both create the database."""
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
    """The address without user and password. They move to the environment, which MLflow reads but never prints."""
    parts = urlsplit(uri)
    if parts.scheme not in ("http", "https") or parts.username is None:
        return uri
    os.environ.update(zip(CREDENTIALS, (unquote(parts.username), unquote(parts.password or "")), strict=True))
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


@contextlib.contextmanager
def for_mlflow() -> Iterator[None]:
    """A block in which the environment has the settings for MLflow; afterwards it is restored."""
    credentials = {name: os.environ.get(name) for name in CREDENTIALS}  # `without_credentials` may set these
    with environment(ENVIRONMENT | credentials):
        yield


def resolve_uri(uri: str, base: Path) -> str:
    """Check the tracking address. A sqlite path becomes absolute, based on `base`, and its folder is created."""
    check_address("tracking.uri", uri)
    scheme, _, path = uri.partition(":///")
    if "://" not in uri or scheme == "file":
        raise RequestError(
            "tracking.uri",
            f"MLflow cannot write to {mask(uri)!r}",
            "Give a database, such as sqlite:///runs/mlflow.db, or the address of a server, such as "
            "http://127.0.0.1:5000.",
        )
    if scheme != "sqlite":
        return uri
    file = (base / path).absolute()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError("tracking.uri", f"{file.parent}: {error.strerror}", "Name another folder.") from error
    return f"sqlite:///{file}"


MLFLOW = Tracker("MLflow", "MLFLOW_TRACKING_URI", MlflowSink, resolve_uri, for_mlflow)
