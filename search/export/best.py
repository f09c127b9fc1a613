"""Exports configurations to files that rerun them: the best, the N best, or the best and all tied with it."""

from dataclasses import dataclass
from pathlib import Path

from seedwise.errors import RequestError
from seedwise.files import write_atomically
from seedwise.program import command
from seedwise.search.export.formats import FORMATS, as_text, check_format
from seedwise.search.export.model_registry import check_name
from seedwise.search.ledger.state import SEARCH
from seedwise.search.ranking.by_language import Pools, per_language
from seedwise.search.ranking.leaderboard import SCORE, chosen
from seedwise.search.ranking.results import Results
from seedwise.search.report.table import NO_REPLICATES
from seedwise.trainables.streams import Streams


def export_best(results: Results, path: Path) -> None:
    """Write the chosen configuration of a search to `path`."""
    write(results, ranking(results, str(path.parent))[0], path)


def write(results: Results, row: dict, path: Path, form: str = "yaml") -> dict:
    """Write one configuration to `path` in a format of `FORMATS`. Returns its content."""
    written = content(results, row, path)
    write_atomically(path, as_text(written, form))
    return written


def ranking(results: Results, where: str) -> list[dict]:
    """The rows that can be exported: the chosen row first, then all other rows with an estimate, best first.

    Raises a RequestError, whose key is `where`, if no run has succeeded.
    """
    if not results.leaderboard:
        raise RequestError(where, "no run has finished yet", "Try again when `status` shows one.")
    if not results.state.succeeded:
        raise RequestError(where, "every run has failed so far, so there is no best configuration")
    best = chosen(results.state, results.leaderboard)
    return [best, *(row for row in results.leaderboard if row["estimate"] is not None and row is not best)]


def content(results: Results, row: dict, path: Path) -> dict:
    """The content of `path`: a configuration, every seed and score behind it, and the data to reproduce it.

    The choice was made before the fresh seeds were run, so `confirmed` is free of the luck of a choice among many:
    `optimism` is the search's estimate minus the fresh mean.
    """
    state, ranked = results.state, ranking(results, str(path.parent))
    search, specification = state.search, state.specification
    # The last bits of scores depend on the number of threads, so a rerun uses the number that this search used.
    threads = specification["resources"] | {"cpus_per_run": state.resources["cpus_per_run"]}
    runs = state.configurations[row["config_id"]].runs
    finished = [runs[replicate] for replicate in sorted(runs) if runs[replicate].finished]
    pools = Pools.of(state, results.selection, SEARCH)
    dev = per_language([run for run in finished if run.phase == SEARCH], results.selection, pools)
    return {
        "name": specification["name"],
        "method": specification["method"],
        "model": specification["model"],
        "task": specification["task"],
        "checksums": search["checksums"],
        "config_id": row["config_id"],
        "rank": ranked.index(row) + 1,
        "params": row["params"],
        "selected_by": results.selection.label,
        "score": {name: row[name] for name in (*SCORE, "estimate", "estimate_low", "estimate_high")}
        | {"p_best": row["p_best"] if row["replicated"] else None}
        | {name: row[name] for name in ("replicates", "failed", "collapsed")},
        "confirmed": _confirmed(row),
        "tied_with": _tied_with(row, ranked[0], results.leaderboard),
        "compared": sum(not other["baseline"] for other in results.leaderboard),
        "dev": {metric: scores for metric, scores in dev.items() if metric.startswith("dev/")},
        "test": _tests(row),
        "underspecification": results.underspecification,
        "baselines": [  # on the same fresh replicates as the best configuration
            {name: other[name] for name in ("baseline", "params")}
            | {"confirmed": _confirmed(other), "test": _tests(other)}
            for other in results.leaderboard
            if other["baseline"] and other["fresh"]
        ],
        "replicates": [
            {name: getattr(run, name) for name in ("replicate", "phase", "status")}
            | {"seeds": Streams(specification["seed"], run.replicate).all_seeds(), "metrics": run.metrics}
            for run in finished
        ],
        **{name: search[name] for name in ("versions", "revision")},
        "made_by": search["command"],
        "rerun_by": command("run", path),
        "specification": {key: value for key, value in specification.items() if key != "tracking"}
        | {"resources": threads},
    }


def _tied_with(row: dict, best: dict, rows: list[dict]) -> list[str] | None:
    """For the best configuration: all configurations tied with it. For any other: the best, if the two are tied.

    None if no configuration ran on two seeds, so that ties are unknown.
    """
    if not row["replicated"]:
        return None
    if row is best:
        return [other["config_id"] for other in rows if other["tied"] and other is not row]
    return [best["config_id"]] if row["tied"] else []


def _confirmed(row: dict) -> dict | None:
    """The score on fresh seeds, and how far it is below the search's estimate; None before the confirmation."""
    if row["fresh"] is None:
        return None
    fresh = {name: row["fresh"][name] for name in ("replicates", *SCORE, "failed", "collapsed")}
    if row["baseline"]:
        return fresh
    return fresh | {"optimism": None if fresh["mean"] is None else row["estimate"] - fresh["mean"]}


def _tests(row: dict) -> dict:
    """Test scores by metric and language, with intervals, over the fresh runs that reached the test."""
    fresh = row["fresh"] or {"scores": {}}
    return {metric: scores for metric, scores in fresh["scores"].items() if metric.startswith("test/")}


@dataclass(frozen=True)
class ExportRequest:
    """The options of an export. Options that exclude each other are refused at once, before anything is read.

    `to` defaults to best.yaml in the search folder (with the ending of `form`), or to its subfolder top or tied.
    """

    to: Path | None = None
    top: int | None = None
    tied: bool = False
    form: str = "yaml"
    model: Path | None = None
    optuna: Path | None = None
    register: str | None = None

    def __post_init__(self) -> None:
        check_format(self.form)
        if self.register is not None:
            check_name(self.register)
            if not self.model:
                raise RequestError(f"--register {self.register}", "there is nothing to register", "Add --model FOLDER.")
        given = {"--to": self.to, "--top": self.top, "--tied": self.tied, "--model": self.model}
        given |= {"--format": self.form != "yaml"}
        if self.optuna and (other := next((name for name, value in given.items() if value), "")):
            fix = f"Leave out {other}, or export twice."
            raise RequestError(f"--optuna {self.optuna}", "it cannot be combined with another export", fix)
        if self.top and self.tied:
            raise RequestError(f"--top {self.top}", "--tied already sets the number", "Leave out --top or --tied.")
        if self.model and self._several:
            raise RequestError(f"--model {self.model}", "it exports only the best", f"Leave out --{self._several}.")

    @property
    def _several(self) -> str:
        return "top" if self.top else "tied" if self.tied else ""

    def write(self, results: Results, folder: Path) -> list[tuple[Path, dict]]:
        """Write the best, top or tied configurations of a search folder. Returns paths with their content."""
        rows, ending = self._rows(ranking(results, str(folder))), FORMATS[self.form]
        path = self.to or folder / (self._several or f"best{ending}")
        paths = [path / f"best-{rank}{ending}" for rank in range(1, len(rows) + 1)] if self._several else [path]
        try:
            if self._several and (stale := sorted(set(path.glob(f"best-*{ending}")) - set(paths))):
                fix = "Remove it, or name another folder: --to."
                raise RequestError(str(stale[0]), "this file is left over from an earlier, longer export", fix)
            return [(path, write(results, row, path, self.form)) for row, path in zip(rows, paths, strict=True)]
        except OSError as error:
            kind = "folder" if self._several else "file"
            raise RequestError(f"--to {path}", str(error.strerror), f"Name a {kind} that can be written.") from error

    def _rows(self, ranked: list[dict]) -> list[dict]:
        if self.tied and not ranked[0]["replicated"]:
            raise RequestError("--tied", NO_REPLICATES, "Export only the best configuration, or use --top N.")
        if self.tied:
            return [ranked[0], *(row for row in ranked[1:] if row["tied"])]
        if (count := self.top or 1) > len(ranked):
            raise RequestError(f"--top {count}", f"only {len(ranked)} configurations have a rank", "Ask for fewer.")
        return ranked[:count]
