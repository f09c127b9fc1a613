"""MLflow as a sink: the MLflow runs of one search, found, created, completed and closed."""

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

from seedwise.search.drawing import svg
from seedwise.search.ledger.state import DONE, INTERRUPTED, RUNNING
from seedwise.search.tracking.mirror import DESCRIPTION, SCORE
from seedwise.search.tracking.sink import FAILED, TOP, Input, Key, Node, Update

SEARCH_ID, PARENT = "seedwise.search_id", "mlflow.parentRunId"  # tags
WRITTEN = "seedwise.ledger"  # tag of the search's run: up to where the ledger is in MLflow, in whole
EXPERIMENT_TAGS = {
    "mlflow.experiment.primaryMetric.name": SCORE,
    "mlflow.experiment.primaryMetric.greaterIsBetter": "True",
    "mlflow.experimentKind": "custom_model_development",  # the UI opens on the runs and not on traces
}
LEVELS = ("search", "configuration", "run")  # by the length of the key
STATUSES = {RUNNING: "RUNNING", DONE: "FINISHED", FAILED: "FAILED", INTERRUPTED: "KILLED"}
OWN_TAGS = {DESCRIPTION: "mlflow.note.content"}  # shown as the run's description
LONGEST_NAME, LONGEST_PARAMETER, LONGEST_TAG = 250, 6000, 8000  # MLflow's limits
CREDENTIALS = ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD")  # where MLflow looks for them
DIGEST = 16  # letters of a SHA-256 that tell files apart; MLflow takes 36


class MlflowSink:
    """The MLflow runs of one search: looked up once, then created, completed and closed as updates say.

    `search` is the ledger's first event, `folder` the search folder that files and pictures are taken from.
    """

    def __init__(self, uri: str, search: Mapping, folder: Path) -> None:
        from mlflow import MlflowClient

        logging.getLogger("mlflow").setLevel(logging.WARNING)  # that it creates tables is no news
        name, artifacts = search["name"], search["specification"]["tracking"].get("artifacts")
        with _alone(uri):
            self._client = MlflowClient(without_credentials(uri))
            experiment = self._client.get_experiment_by_name(name)
            if experiment and experiment.lifecycle_stage != "active":
                command = f"mlflow experiments restore -x {experiment.experiment_id}"
                raise RuntimeError(f"experiment {name!r} is deleted; bring it back with `{command}`")
            if artifacts and not uri.startswith("http") and not urlsplit(artifacts).scheme:  # relative to its search
                artifacts = (Path(search.get("folder", "")) / artifacts).absolute().as_uri()
            self._experiment = experiment.experiment_id if experiment else self._create_experiment(uri, name, artifacts)
        for key, value in EXPERIMENT_TAGS.items():
            if not experiment or key not in experiment.tags:
                self._client.set_experiment_tag(self._experiment, key, value)
        self._search_id, self._folder = search["search_id"], folder
        self._ids: dict[Key, str] = {}
        self._statuses: dict[Key, tuple[str, int | None]] = {}  # and when it ended, in milliseconds
        self._found: dict[Key, tuple[Collection[str], str | None]] = {}  # parameters and parent, not completed yet
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
        """Artifacts go where the specification says; else those of a sqlite store next to it, a server has its place.

        Only the first search of an experiment decides: MLflow cannot move them later.
        """
        if artifacts is None and uri.startswith("sqlite:"):
            artifacts = (Path(uri.removeprefix("sqlite:///")).parent / "mlartifacts").as_uri()
        return self._client.create_experiment(name, artifacts)

    def _look_up(self) -> None:
        """Find this search's runs. A run that is there twice was created by a request whose answer got lost."""
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
        self._found[key] = run.data.params, run.data.tags.get(PARENT)

    def _run_id(self, key: Key, nodes: Mapping[Key, Node]) -> str:
        """The MLflow run of a key, created if it is missing, and its parents before it."""
        if key not in self._ids:
            node = nodes[key]
            tags = _tags(node.tags) | {SEARCH_ID: self._search_id, "level": LEVELS[len(key)]}
            tags |= dict(zip(("config_id", "replicate"), map(str, key), strict=False)) | self._parent(key, nodes)
            tags["mlflow.runName"] = node.name[:LONGEST_NAME]
            self._remember(key, self._client.create_run(self._experiment, start_time=node.start, tags=tags))
        return self._ids[key]

    def _parent(self, key: Key, nodes: Mapping[Key, Node]) -> dict[str, str]:
        return {} if key == TOP else {PARENT: self._run_id(key[:-1], nodes)}

    def _log(self, run_id: str, update: Update, nodes: Mapping[Key, Node]) -> None:
        """One request, unless it is larger than MLflow's limits: its client cuts it then."""
        from mlflow.entities import Metric, Param, RunTag

        node, params, tags = nodes[update.key], {}, _tags(update.tags)
        if update.key in self._found:  # written for the first time here: it may lack what it was created with
            found, parent = self._found[update.key]
            params = {name: text for name, text in _params(node.params).items() if name not in found}
            if (now := self._parent(update.key, nodes)).get(PARENT) != parent:  # it was deleted and created again
                tags |= now
            if node.inputs and not found:
                self._client.log_inputs(run_id, [_dataset(one) for one in node.inputs])
        # Only finite numbers: MLflow keeps an infinity as 1.8e308, which ruins every chart that it is in.
        points = [Metric(_name(name), *rest) for name, *rest in update.points if math.isfinite(rest[0])]
        if params or points or tags:
            params, tags = [Param(*item) for item in params.items()], [RunTag(*item) for item in tags.items()]
            self._client.log_batch(run_id, points, params, tags)
        self._found.pop(update.key, None)

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
    """All MLflow runs of a search, on all three levels, in the order in which they began."""
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


def _dataset(one: Input) -> "DatasetInput":  # noqa: F821
    from mlflow.entities import Dataset, DatasetInput, InputTag

    dataset = Dataset(one.path, one.checksum[:DIGEST], "local", json.dumps({"uri": one.path}))
    return DatasetInput(dataset, [InputTag("mlflow.data.context", _name(one.key))])


def _name(text: str) -> str:
    """A name that MLflow accepts: its letters only, and nothing that would be another path."""
    return posixpath.normpath(re.sub(r"[^\w\-. :/]", "_", text)).lstrip("./")[:LONGEST_NAME] or "_"


def _params(params: Mapping[str, str]) -> dict[str, str]:
    return {_name(name): text[:LONGEST_PARAMETER] for name, text in params.items()}


def _tags(tags: Mapping[str, str]) -> dict[str, str]:
    return {OWN_TAGS.get(name, name): text[:LONGEST_TAG] for name, text in tags.items()}


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
    os.environ.update(zip(CREDENTIALS, (unquote(parts.username), unquote(parts.password or "")), strict=True))
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
