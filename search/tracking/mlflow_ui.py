"""MLflow's pages: their addresses, and a server for a store that has none."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, urlencode

from rich.console import Console

from seedwise.credentials import mask
from seedwise.errors import RequestError
from seedwise.process import kept_handlers
from seedwise.program import called
from seedwise.search.ranking.results import Results
from seedwise.search.tracking.follower import ENVIRONMENT, address_of, for_mlflow
from seedwise.search.tracking.mirror import SCORE
from seedwise.search.tracking.mlflow_sink import runs_of, without_credentials

HOST = "127.0.0.1"
PATIENCE = 180.0  # seconds that a server may take to answer; the first start on a new database takes ten


class Pages:
    """Addresses of the pages of a store, below `server`: its own, or on `port` where it is a database without one."""

    def __init__(self, uri: str, port: int) -> None:
        from mlflow import MlflowClient

        self.uri, self.port = uri, port
        self.served = uri.startswith(("http://", "https://"))  # somebody else runs a server
        self.server = without_credentials(uri) if self.served else f"http://{HOST}:{port}"
        try:
            self._client = MlflowClient(without_credentials(uri))
        except Exception as error:  # MLflow's own, or that a database has no driver here
            raise unreachable(uri, error) from error

    def experiment(self, name: str) -> str:
        """The configurations of a search, the highest mean score first."""
        view = {
            "searchFilter": "tags.level = 'configuration'",
            "orderByKey": f"metrics.`{SCORE}`",
            "orderByAsc": "false",
        }
        return f"{self.server}/#/experiments/{self._id(name)}/runs?{urlencode(view)}"

    def comparison(self, chosen: Sequence[tuple[Mapping, Sequence[str]]], *, replicates: bool = False) -> str:
        """MLflow's comparison of configurations: parallel coordinates, scatter, box and contour plots, and a table.

        `chosen` has the `search` event of every ledger with its configurations, best first. With `replicates` their
        single runs are selected instead, so that a box plot shows the spread over seeds.
        """
        experiments, runs = [], []
        for search, config_ids in chosen:
            experiments.append(self._id(search["name"]))
            found = self._runs(experiments[-1], search["search_id"], "run" if replicates else "configuration")
            runs += [run_id for config_id in config_ids for run_id in found.get(config_id, ())]
        if not runs:
            fix = f"Bring them there with: {called('track', 'DIR')}"
            raise RequestError("--ui", "MLflow has none of these configurations", fix)
        query = f"runs={quote(json.dumps(runs))}&experiments={quote(json.dumps(list(dict.fromkeys(experiments))))}"
        return f"{self.server}/#/compare-runs?{query}"

    def _id(self, name: str) -> str:
        try:
            experiment = self._client.get_experiment_by_name(name)
        except Exception as error:  # MLflow's own, or whatever a database's driver raises
            raise unreachable(self.uri, error) from error
        if experiment is None:
            fix = f"Bring it there with: {called('track', 'DIR')}"
            raise RequestError("tracking.uri", f"MLflow has no experiment {name!r} yet", fix)
        return experiment.experiment_id

    def _runs(self, experiment: str, search_id: str, level: str) -> dict[str, list[str]]:
        """MLflow's run ids of a level by configuration, replicates in their order."""
        found: dict[str, list[str]] = {}
        for run in runs_of(self._client, experiment, search_id):
            if run.data.tags["level"] == level:
                found.setdefault(run.data.tags["config_id"], []).append(run.info.run_id)
        return found


def unreachable(uri: str, error: Exception) -> RequestError:
    reason = mask(f"{type(error).__name__}: {error}", uri).splitlines()[0][:200]
    return RequestError("tracking.uri", f"{mask(uri)} does not answer ({reason})", "Start it, or name another store.")


@for_mlflow()
def show_comparison(searches: Sequence[Results], top: int, port: int, console: Console) -> None:
    """Open MLflow's comparison page on the `top` best configurations of every search, which must share a store."""
    stores = {address_of(one.state.specification["tracking"]["uri"]) for one in searches}
    if len(stores) > 1:
        raise RequestError(
            "--ui",
            f"these searches are in {len(stores)} stores: {', '.join(sorted(map(mask, stores)))}",
            f"Bring them into one: {called('track', 'DIR', '--uri', 'URI')}",
        )
    pages, chosen = Pages(stores.pop(), port), []
    for one in searches:
        ids = [row["config_id"] for row in one.leaderboard if not row["baseline"]]
        chosen.append((one.state.search, ids[:top]))
    links = {
        "the best configurations": pages.comparison(chosen),
        "their replicates (box plot of score over configuration)": pages.comparison(chosen, replicates=True),
    }
    serve(pages, links, console, show=True)


def serve(pages: Pages, links: Mapping[str, str], console: Console, *, show: bool = False) -> None:
    """Print addresses, and keep a server running for a store that is a database until it is interrupted.

    `show` opens the first address in a browser once the server answers.
    """
    with kept_handlers() as settable:
        if settable:
            signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that the server ends with this process
        _serve(pages, links, console, show=show)


def _serve(pages: Pages, links: Mapping[str, str], console: Console, *, show: bool) -> None:
    process = None
    if not pages.served:
        refuse_taken(pages.port)
        mlflow = str(Path(sys.executable).with_name("mlflow"))
        command = [mlflow, "ui", "--host", HOST, "--port", str(pages.port), "--workers", "1"]  # for one person
        more = {
            "MLFLOW_BACKEND_STORE_URI": pages.uri,  # arguments are for everybody to see, a password among them
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # a dozen processes that nothing here asks for
        }
        process = subprocess.Popen(command, env={**os.environ, **ENVIRONMENT, **more}, stdout=subprocess.DEVNULL)
    try:
        if process:
            with console.status("starting MLflow"):
                _await(process, f"{pages.server}/health")
        for what, link in links.items():
            console.print(f"{what}: {link}", soft_wrap=True)
        if show:
            webbrowser.open(next(iter(links.values())))
        if process:
            console.print("Ctrl-C ends the server.")
            process.wait()
    except KeyboardInterrupt:
        pass  # which is how one ends it
    finally:
        if process and process.poll() is None:
            process.terminate()
            process.wait()


def refuse_taken(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise RequestError(f"--port {port}", error.strerror, f"Name a free one, such as {port + 1}.") from error


def _await(process: subprocess.Popen, address: str) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=1):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    raise RequestError("--port", "MLflow's server did not start", "Its messages above say why.")
