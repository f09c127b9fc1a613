"""Configurations as files that rerun them: the best one, the N best, or all that cannot be told apart from it."""

from dataclasses import dataclass
from pathlib import Path

from seedwise.errors import RequestError
from seedwise.files import write_atomically
from seedwise.program import command
from seedwise.search.export.formats import FORMATS, as_text, check_format
from seedwise.search.export.model_registry import check_name
from seedwise.search.ledger.state import SEARCH, State
from seedwise.search.ranking.estimator import Standing
from seedwise.search.ranking.leaderboard import SCORE, chosen, leaderboard, per_language, underspecification
from seedwise.search.report.table import NO_REPLICATES
from seedwise.trainables.streams import Streams


@dataclass
class Export:
    """What a search folder has to give away, best first."""

    state: State
    standing: Standing
    folder: Path

    def __post_init__(self) -> None:
        self.rows = leaderboard(self.state, self.standing)
        if not self.rows:
            raise RequestError(f"{self.folder}: no run has finished yet. Try again when `status` shows one.")
        if not self.state.succeeded:
            raise RequestError(f"{self.folder}: every run has failed so far, so there is no best configuration.")
        self.best = chosen(self.state, self.rows)
        ranked = [row for row in self.rows if row["estimate"] is not None and row is not self.best]
        self.ranked = [self.best, *ranked]
        self.underspecification = underspecification(self.state, self.standing)

    def top(self, count: int) -> list[dict]:
        """The `count` best rows; it is an error to ask for more than there are."""
        if count > len(self.ranked):
            raise RequestError(f"--top {count}: only {len(self.ranked)} configurations have a rank. Ask for fewer.")
        return self.ranked[:count]

    def tied(self) -> list[dict]:
        """The best, and all that cannot be told apart from it; it is an error where that cannot be said."""
        if not self.best["replicated"]:
            raise RequestError(f"--tied: {NO_REPLICATES}. Export the best alone, or the --top N.")
        return [row for row in self.ranked if row is self.best or row["tied"]]

    def content(self, row: dict, path: Path) -> dict:
        """What goes to `path`: a configuration, every seed and score behind it, and how it came about.

        The choice was made before the fresh seeds were run, so `confirmed` is free of the luck that a choice among many
        brings: `optimism` is by how much the search had promised more.
        """
        search, specification = self.state.search, self.state.search["specification"]
        # Scores depend on the number of threads in their last bits, so a rerun has those that were worked out here.
        threads = specification["resources"] | {"cpus_per_run": self.state.resources["cpus_per_run"]}
        runs = self.state.configurations[row["config_id"]].runs
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
            "rank": self.ranked.index(row) + 1,
            "params": row["params"],
            "selected_by": self.standing.selection.label,
            "score": score | {"replicates": row["replicates"], "failed": row["failed"]},
            "confirmed": _confirmed(row),
            "tied_with": self._tied_with(row),
            "compared": sum(not one["baseline"] for one in self.rows),
            "dev": {metric: of for metric, of in dev.items() if metric.startswith("dev/")},
            "test": _tests(row),
            "underspecification": self.underspecification,
            "baselines": [_baseline(one) for one in self.rows if one["baseline"] and one["fresh"]],
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

    def _tied_with(self, row: dict) -> list[str] | None:
        """Of the best: all others that cannot be told apart from it. Of another: the best, where that is so.

        None where no seed was repeated, so that it cannot be said.
        """
        if not row["replicated"]:
            return None
        if row is self.best:
            return [other["config_id"] for other in self.rows if other["tied"] and other is not row]
        return [self.best["config_id"]] if row["tied"] else []

    def write(self, row: dict, path: Path, form: str = "yaml") -> dict:
        """Write one configuration to `path`, in a format of `FORMATS`, and return its content."""
        content = self.content(row, path)
        write_atomically(path, as_text(content, form))
        return content

    def write_all(self, rows: list[dict], to: Path, form: str) -> list[tuple[Path, dict]]:
        """best-1, best-2, ... in the folder `to`, where no more of them may lie from an earlier export."""
        paths = [to / f"best-{place}{FORMATS[form]}" for place in range(1, len(rows) + 1)]
        if stale := sorted(set(to.glob(f"best-*{FORMATS[form]}")) - set(paths)):
            raise RequestError(f"{stale[0]}: is of an earlier, longer export. Remove it, or name another folder: --to.")
        return [(path, self.write(row, path, form)) for row, path in zip(rows, paths, strict=True)]


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
                raise RequestError(f"--register {self.register}: there is nothing to register. Add --model FOLDER.")
        given = {"--to": self.to, "--top": self.top, "--tied": self.tied, "--model": self.model}
        given |= {"--format": self.form != "yaml"}
        if self.optuna and (other := next((name for name, value in given.items() if value), "")):
            raise RequestError(f"--optuna {self.optuna}: it is an export of its own. Leave out {other}, or ask apart.")
        if self.top and self.tied:
            raise RequestError(f"--top {self.top}: --tied says how many there are. Leave out one of the two.")
        if self.model and (several := self._several()):
            raise RequestError(f"--model {self.model}: it is of the best alone. Leave out --{several}.")

    def _several(self) -> str:
        return "top" if self.top else "tied" if self.tied else ""

    def write(self, found: Export) -> list[tuple[Path, dict]]:
        """Write the best, or the top or tied ones; the paths, and what they hold."""
        several = self._several()
        path = self.to or found.folder / (several or f"best{FORMATS[self.form]}")
        try:
            if several:
                return found.write_all(found.top(self.top) if self.top else found.tied(), path, self.form)
            return [(path, found.write(found.best, path, self.form))]
        except OSError as error:
            place = "folder" if several else "file"
            raise RequestError(f"--to {path}: {error.strerror}. Name a {place} that can be written.") from error


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
