"""Addresses of MLflow's pages, and a server for a store without a server."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import webbrowser
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, urlencode

from rich.console import Console

from seedwise.credentials import mask
from seedwise.errors import RequestError
from seedwise.process import kept_handlers
from seedwise.program import called
from seedwise.search.ranking.by_language import SCORE
from seedwise.search.ranking.results import Results
from seedwise.search.tracking.mlflow_sink import ENVIRONMENT, for_mlflow, runs_of, without_credentials
from seedwise.search.tracking.trackers import address_of

HOST = "127.0.0.1"
START_TIMEOUT = 180.0  # seconds; the first start on a new database takes ten seconds


class Pages:
    """Addresses of the pages of a store, on its server, or on `port` if the store is a database without a server."""

    def __init__(self, uri: str, port: int) -> None:
        from mlflow import MlflowClient

        self.uri, self.port = uri, port
        self.served = uri.startswith(("http://", "https://"))  # there is a server
        self.server = without_credentials(uri) if self.served else f"http://{HOST}:{port}"
        try:
            self._client = MlflowClient(without_credentials(uri))
        except Exception as error:  # MLflow's errors, or a missing database driver
            raise unreachable(uri, error) from error

    def experiment(self, name: str) -> str:
        """The address of the configurations of a search, the highest mean score first."""
        view = {"searchFilter": "tags.level = 'configuration'"}
        view |= {"orderByKey": f"metrics.`{SCORE}`", "orderByAsc": "false"}
        return f"{self.server}/#/experiments/{self._id(name)}/runs?{urlencode(view)}"

    def comparison(self, chosen: Sequence[tuple[Mapping, Sequence[str]]], *, replicates: bool = False) -> str:
        """The address of MLflow's comparison of configurations: parallel coordinates, other plots and a table.

        `chosen` has the `search` event of every ledger with the ids of its configurations, best first. With
        `replicates` the page compares the runs of the configurations, so a box plot shows the spread over seeds.
        """
        experiments, run_ids, level = [], [], "run" if replicates else "configuration"
        for search, config_ids in chosen:
            experiments.append(self._id(search["name"]))
            by_configuration = defaultdict(list)
            for run in runs_of(self._client, experiments[-1], search["search_id"]):
                if run.data.tags["level"] == level:
                    by_configuration[run.data.tags["config_id"]].append(run.info.run_id)
            run_ids += [run_id for config_id in config_ids for run_id in by_configuration[config_id]]
        if not run_ids:
            fix = f"Add them with: {called('track', 'DIR')}"
            raise RequestError("--ui", "MLflow has none of these configurations", fix)
        experiments = json.dumps(list(dict.fromkeys(experiments)))
        return f"{self.server}/#/compare-runs?runs={quote(json.dumps(run_ids))}&experiments={quote(experiments)}"

    def _id(self, name: str) -> str:
        try:
            experiment = self._client.get_experiment_by_name(name)
        except Exception as error:  # MLflow's errors, or any error of a database driver
            raise unreachable(self.uri, error) from error
        if experiment is None:
            fix = f"Add it with: {called('track', 'DIR')}"
            raise RequestError("tracking.uri", f"MLflow has no experiment {name!r} yet", fix)
        return experiment.experiment_id


def unreachable(uri: str, error: Exception) -> RequestError:
    reason = mask(f"{type(error).__name__}: {error}", uri).splitlines()[0][:200]
    return RequestError("tracking.uri", f"{mask(uri)} does not answer ({reason})", "Start it, or name another store.")


@for_mlflow()
def show_comparison(searches: Sequence[Results], top: int, port: int, console: Console) -> None:
    """Open MLflow's page that compares the `top` best configurations of every search; all must share a store."""
    stores = {address_of(results.state.specification["tracking"]["uri"]) for results in searches}
    if len(stores) > 1:
        raise RequestError(
            "--ui",
            f"these searches are in {len(stores)} stores: {', '.join(sorted(map(mask, stores)))}",
            f"Track them in one store: {called('track', 'DIR', '--uri', 'URI')}",
        )
    pages, chosen = Pages(stores.pop(), port), []
    for results in searches:
        config_ids = [row["config_id"] for row in results.leaderboard if not row["baseline"]]
        chosen.append((results.state.search, config_ids[:top]))
    links = {
        "the best configurations": pages.comparison(chosen),
        "their replicates (box plot of score over configuration)": pages.comparison(chosen, replicates=True),
    }
    serve(pages, links, console, show=True)


def serve(pages: Pages, links: Mapping[str, str], console: Console, *, show: bool = False) -> None:
    """Print addresses; for a store without a server, run one until interrupted. `show` opens the first address."""
    with kept_handlers() as settable:
        if settable:
            signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that the server ends with this process
        running = contextlib.nullcontext() if pages.served else _server(pages, console)
        with contextlib.suppress(KeyboardInterrupt), running as server:  # Ctrl-C ends the server
            for what, link in links.items():
                console.print(f"{what}: {link}", soft_wrap=True)
            if show:
                webbrowser.open(next(iter(links.values())))
            if server:
                console.print("Ctrl-C ends the server.")
                server.wait()


@contextlib.contextmanager
def _server(pages: Pages, console: Console) -> Iterator[subprocess.Popen]:
    """A block in which MLflow's server runs on a database."""
    refuse_taken(pages.port)
    mlflow = str(Path(sys.executable).with_name("mlflow"))
    line = [mlflow, "ui", "--host", HOST, "--port", str(pages.port), "--workers", "1"]  # one user
    settings = {
        "MLFLOW_BACKEND_STORE_URI": pages.uri,  # all users can read arguments, which may have a password
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # saves a dozen processes that nothing here uses
    }
    server = subprocess.Popen(line, env={**os.environ, **ENVIRONMENT, **settings}, stdout=subprocess.DEVNULL)
    try:
        with console.status("starting MLflow"):
            _await(server, f"{pages.server}/health")
        yield server
    finally:
        if server.poll() is None:
            server.terminate()
            server.wait()


def refuse_taken(port: int) -> None:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            raise RequestError(f"--port {port}", error.strerror, f"Name a free one, such as {port + 1}.") from error


def _await(server: subprocess.Popen, address: str) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=1):
                return
        except OSError:
            time.sleep(0.3)
    raise RequestError("--port", "MLflow's server did not start", "Its messages above say why.")
