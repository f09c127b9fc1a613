"""Configurations as files that rerun them: the best one, the N best, or all that cannot be told apart from it."""

from dataclasses import dataclass
from pathlib import Path

from seedwise.errors import RequestError
from seedwise.files import write_atomically
from seedwise.program import command
from seedwise.search.export.formats import FORMATS, as_text, check_format
from seedwise.search.export.model_registry import check_name
from seedwise.search.ledger.state import SEARCH
from seedwise.search.ranking.leaderboard import SCORE, chosen, per_language
from seedwise.search.ranking.results import Results
from seedwise.search.report.table import NO_REPLICATES
from seedwise.trainables.streams import Streams


def export_best(results: Results, path: Path, form: str = "yaml") -> dict:
    """Write the configuration that the search stands for to `path`; its content."""
    return write(results, ranking(results, str(path.parent))[0], path, form)


def ranking(results: Results, where: str) -> list[dict]:
    """The rows that can be exported: the chosen one first, then all others that have an estimate, best first.

    It is an error where no run has succeeded; `where` begins it.
    """
    if not results.leaderboard:
        raise RequestError(where, "no run has finished yet", "Try again when `status` shows one.")
    if not results.state.succeeded:
        raise RequestError(where, "every run has failed so far, so there is no best configuration")
    best = chosen(results.state, results.leaderboard)
    return [best, *(row for row in results.leaderboard if row["estimate"] is not None and row is not best)]


def top(ranked: list[dict], count: int) -> list[dict]:
    """The `count` best rows; it is an error to ask for more than there are."""
    if count > len(ranked):
        raise RequestError(f"--top {count}", f"only {len(ranked)} configurations have a rank", "Ask for fewer.")
    return ranked[:count]


def tied(ranked: list[dict]) -> list[dict]:
    """The best, and all that cannot be told apart from it; it is an error where that cannot be said."""
    best, *others = ranked
    if not best["replicated"]:
        raise RequestError("--tied", NO_REPLICATES, "Export the best alone, or the --top N.")
    return [best, *(row for row in others if row["tied"])]


def content(results: Results, row: dict, path: Path) -> dict:
    """What goes to `path`: a configuration, every seed and score behind it, and how it came about.

    The choice was made before the fresh seeds were run, so `confirmed` is free of the luck that a choice among many
    brings: `optimism` is by how much the search had promised more.
    """
    state, ranked = results.state, ranking(results, str(path.parent))
    search, specification = state.search, state.specification
    # Scores depend on the number of threads in their last bits, so a rerun has those that were worked out here.
    threads = specification["resources"] | {"cpus_per_run": state.resources["cpus_per_run"]}
    runs = state.configurations[row["config_id"]].runs
    finished = [runs[replicate] for replicate in sorted(runs) if runs[replicate].finished]
    score = {name: row[name] for name in (*SCORE, "estimate", "estimate_low", "estimate_high")}
    score["p_best"] = row["p_best"] if row["replicated"] else None
    dev = per_language([run.metrics for run in finished if run.phase == SEARCH], intervals=True)
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
        "score": score | {"replicates": row["replicates"], "failed": row["failed"]},
        "confirmed": _confirmed(row),
        "tied_with": _tied_with(row, ranked[0], results.leaderboard),
        "compared": sum(not one["baseline"] for one in results.leaderboard),
        "dev": {metric: of for metric, of in dev.items() if metric.startswith("dev/")},
        "test": _tests(row),
        "underspecification": results.underspecification,
        "baselines": [_baseline(one) for one in results.leaderboard if one["baseline"] and one["fresh"]],
        "replicates": [
            {
                "replicate": run.replicate,
                "phase": run.phase,
                "status": run.status,
                "seeds": Streams(specification["seed"], run.replicate).all_seeds(),
                "metrics": run.metrics,
            }
            for run in finished
        ],
        "versions": search["versions"],
        "revision": search["revision"],
        "made_by": search["command"],
        "rerun_by": command("run", path),
        "specification": {key: value for key, value in specification.items() if key != "tracking"}
        | {"resources": threads},
    }


def _tied_with(row: dict, best: dict, rows: list[dict]) -> list[str] | None:
    """Of the best: all others that cannot be told apart from it. Of another: the best, where that is so.

    None where no seed was repeated, so that it cannot be said.
    """
    if not row["replicated"]:
        return None
    if row is best:
        return [other["config_id"] for other in rows if other["tied"] and other is not row]
    return [best["config_id"]] if row["tied"] else []


def write(results: Results, row: dict, path: Path, form: str) -> dict:
    """Write one configuration to `path`, in a format of `FORMATS`, and return its content."""
    written = content(results, row, path)
    write_atomically(path, as_text(written, form))
    return written


def write_all(results: Results, rows: list[dict], to: Path, form: str) -> list[tuple[Path, dict]]:
    """best-1, best-2, ... in the folder `to`, where no more of them may lie from an earlier export."""
    paths = [to / f"best-{rank}{FORMATS[form]}" for rank in range(1, len(rows) + 1)]
    if stale := sorted(set(to.glob(f"best-*{FORMATS[form]}")) - set(paths)):
        raise RequestError(str(stale[0]), "is of an earlier, longer export", "Remove it, or name another folder: --to.")
    return [(path, write(results, row, path, form)) for row, path in zip(rows, paths, strict=True)]


@dataclass(frozen=True)
class Request:
    """What a person wants exported. Options that do not go together are refused at once, before anything is read.

    Defaults of `to`: the file best.yaml (or as `form` ends) in the search folder, or its folder top or tied.
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
            alone = f"Leave out {other}, or ask apart."
            raise RequestError(f"--optuna {self.optuna}", "it is an export of its own", alone)
        if self.top and self.tied:
            raise RequestError(f"--top {self.top}", "--tied says how many there are", "Leave out one of the two.")
        if self.model and (several := self._several()):
            raise RequestError(f"--model {self.model}", "it is of the best alone", f"Leave out --{several}.")

    def _several(self) -> str:
        return "top" if self.top else "tied" if self.tied else ""

    def write(self, results: Results, folder: Path) -> list[tuple[Path, dict]]:
        """Write the best of a search folder, or the top or tied ones; the paths, and what they hold."""
        several, ranked = self._several(), ranking(results, str(folder))
        path = self.to or folder / (several or f"best{FORMATS[self.form]}")
        try:
            if several:
                return write_all(results, top(ranked, self.top) if self.top else tied(ranked), path, self.form)
            return [(path, write(results, ranked[0], path, self.form))]
        except OSError as error:
            kind = "folder" if several else "file"
            raise RequestError(f"--to {path}", str(error.strerror), f"Name a {kind} that can be written.") from error


def _confirmed(row: dict) -> dict | None:
    """The score on fresh seeds, and how much of the search's score it did not keep; None before the confirmation."""
    if row["fresh"] is None:
        return None
    fresh = {name: row["fresh"][name] for name in ("replicates", *SCORE, "failed")}
    return fresh if row["baseline"] else fresh | {"optimism": row["estimate"] - fresh["mean"]}


def _baseline(row: dict) -> dict:
    """A baseline beside the best configuration: what it is, and its scores on the same fresh replicates."""
    return {"baseline": row["baseline"], "params": row["params"], "confirmed": _confirmed(row), "test": _tests(row)}


def _tests(row: dict) -> dict:
    """Test scores by metric and language, with intervals, from the fresh runs that got to the test."""
    if row["fresh"] is None:
        return {}
    return {metric: of for metric, of in row["fresh"]["scores"].items() if metric.startswith("test/")}
