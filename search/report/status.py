"""What ran, what runs, what is left: from the ledger, on any machine that sees the folder, or from MLflow."""

import os
from collections import Counter
from pathlib import Path

from rich.console import Console

from seedwise.credentials import check_address, mask
from seedwise.errors import RequestError
from seedwise.folder import LEDGER
from seedwise.program import called
from seedwise.search.ledger.state import State, busy, read
from seedwise.search.report.live import Progress, seed
from seedwise.search.spec.load import recorded
from seedwise.text import ago, number


def show(folder: Path, console: Console) -> None:
    """The status of a search folder. It may be written meanwhile, by another process or another machine."""
    path = folder / LEDGER
    state = read(path)
    if not state.search:
        raise RequestError(
            f"{folder}: there is no search here. Write its folder, or its name with --uri, the address of MLflow."
        )
    parts = recorded(state).parts
    total = parts.total_runs(state)
    console.print(Progress(console, state, parts.standing, total).view())
    done = sum(run.finished for run in state.runs())
    left = parts.policy.in_words() if total is None else f"{max(0, total - done)} runs left"
    times = f"session {state.sessions}, last line {ago(state.last_time)}"
    if state.finished:
        console.print(f"finished: {state.finished} ({times})", soft_wrap=True)
        return
    console.print(f"{phase_of(state)}, {left}; {times}", soft_wrap=True)
    if busy(path):
        console.print("the search is running")
        return
    begun = [run for run in state.runs() if not run.finished]
    if begun:
        console.print(f"without a result: {', '.join(f'{run.config_id} {seed(run)}' for run in begun)}", soft_wrap=True)
    console.print(f"interrupted; go on with: {called('resume', folder)}", soft_wrap=True)
    console.print("If another machine writes it, wait: its lock cannot always be seen from here.", style="dim")


def phase_of(state: State) -> str:
    """Where a search is, in a word."""
    if state.search["specification"]["landscape"]:
        return "landscape"
    if state.stopped:
        return "confirmation" if state.frozen else "writing the results"
    return "baselines" if state.policy_stopped else "search"


def show_from_store(name: str, uri: str, console: Console) -> None:
    """The status of the latest search of that name in an MLflow store, which may be a server on another machine."""
    from seedwise.search.tracking.follower import ENVIRONMENT

    os.environ.update(ENVIRONMENT)
    _refuse_no_store(uri)
    try:
        runs = _runs_of(name, uri)
    except RequestError:
        raise
    except ImportError as error:
        raise RequestError(f"--uri {mask(uri)}: its driver is not installed ({error}). Install it.") from error
    except Exception as error:  # MLflow's own, or whatever a database's driver raises
        told = mask(" ".join(str(error).split()), uri)[:200]
        raise RequestError(f"--uri {mask(uri)}: it does not answer ({told}). Correct it.") from error
    top = next(run for run in runs if run.data.tags["level"] == "search")
    tags, metrics = top.data.tags, top.data.metrics
    console.print(f"{name}: {tags['method']}, {tags['selection']}, {_status(top)}", style="bold", soft_wrap=True)
    for level in ("configuration", "run"):
        counts = Counter(_status(run) for run in runs if run.data.tags["level"] == level)
        told = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        console.print(f"{counts.total()} {level}s: {told}" if counts else f"no {level} yet", soft_wrap=True)
    if "best_config_id" in tags:
        # Before the freeze MLflow has means alone: who is best by the estimate may be another one.
        standing = "chosen" if "stopped" in tags else "highest mean so far"
        kind = " (oracle)" if "oracle" in tags else ""
        console.print(f"{standing}{kind}: {_named(runs, tags['best_config_id'])}", soft_wrap=True)
        console.print(f"its score: {_score(metrics, 'score')}", soft_wrap=True)
        if "fresh_score" in metrics:
            console.print(f"on fresh seeds: {_score(metrics, 'fresh_score')}", soft_wrap=True)
    if "stopped" in tags:
        console.print(f"the search phase is over: {tags['stopped']}", soft_wrap=True)
    console.print(f"session {tags.get('sessions', '?')}, last line that MLflow has: {_age(tags)}", soft_wrap=True)


def _refuse_no_store(uri: str) -> None:
    """MLflow would make an empty database of a name that is not there."""
    check_address("--uri", uri)
    path = uri.removeprefix("sqlite:///")
    if "://" not in uri or (path != uri and not Path(path).is_file()):
        raise RequestError(
            f"--uri {mask(uri)}: there is no such store. Write http://HOST:PORT of a server, or sqlite:///FILE."
        )


def _runs_of(name: str, uri: str) -> list:
    """All MLflow runs of the latest search of that name, on all three levels."""
    from mlflow import MlflowClient

    from seedwise.search.tracking.mlflow_sink import runs_of, without_credentials

    client = MlflowClient(without_credentials(uri))
    experiment = client.get_experiment_by_name(name)
    place = [experiment.experiment_id] if experiment else []
    latest = place and client.search_runs(place, "tags.level = 'search'", order_by=["start_time DESC"], max_results=1)
    if not latest:
        known = sorted(one.name for one in client.search_experiments() if one.name != "Default")
        raise RequestError(f"--uri {mask(uri)}: no search is called {name!r}. It has {', '.join(known) or 'none'}.")
    return runs_of(client, place[0], latest[0].data.tags["seedwise.search_id"])


def _named(runs: list, config_id: str) -> str:
    """A configuration by its id and by what was searched. Its replicates have its id as well, and other names."""
    of_it = [run for run in runs if run.data.tags.get("config_id") == config_id]
    names = [run.info.run_name for run in of_it if run.data.tags["level"] == "configuration"]
    return " ".join(dict.fromkeys([config_id, *names[:1]]))


def _status(run: object) -> str:
    """A run's status in the ledger's words: what it is tagged with, or what MLflow's means."""
    from seedwise.search.tracking.mlflow_sink import STATUSES

    words = {shown: word for word, shown in STATUSES.items()}
    return run.data.tags.get("status") or words.get(run.info.status, run.info.status.lower())


def _score(metrics: dict[str, float], name: str) -> str:
    low, high = (metrics.get(f"{name}_ci_{end}") for end in ("low", "high"))
    interval = "one seed, no interval" if low is None else f"95 % interval {number(low)} .. {number(high)}"
    return f"{number(metrics.get(name))} ({interval})"


def _age(tags: dict[str, str]) -> str:
    from seedwise.search.tracking.mlflow_sink import WRITTEN

    _, _, moment = tags.get(WRITTEN, "").partition(" lines until ")
    return ago(float(moment)) if moment else "none yet"
