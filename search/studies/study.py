"""The kinds of study that a search folder can hold: what their runs are, what they write, what they tell a person.

Another kind is a class with these methods and a line in `STUDIES`.
"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.console import Console

from seedwise.errors import RequestError
from seedwise.folder import BEST, REPORT
from seedwise.imports import import_path
from seedwise.program import called
from seedwise.search.decide.baselines import distinguishing_parameters
from seedwise.search.export.best import export_best
from seedwise.search.ledger.state import Run, State
from seedwise.search.ranking import leaderboard
from seedwise.search.ranking.results import Results
from seedwise.search.report.table import show_leaderboard
from seedwise.search.studies import decomposition
from seedwise.search.studies.report import write_report
from seedwise.text import short
from seedwise.trainables.landscape.jobs import Job

if TYPE_CHECKING:
    from seedwise.search.execution.phases import Phases
    from seedwise.search.spec.schema import Specification

LANDSCAPE = "seedwise.trainables.landscape.trainable:Landscape"


@dataclass(frozen=True)
class Search:
    """Configurations compete, and the best are confirmed. What other kinds do not say otherwise is as here."""

    specification: "Specification"
    apart: ClassVar[str] = ""  # what the folder holds instead of configurations that compete

    @staticmethod
    def holds(specification: "Specification") -> bool:
        """Whether a specification asks for this kind."""
        return True

    def method(self) -> type:
        """The class of all its runs."""
        return self.specification.parts.method

    def searched(self) -> dict[str, list[str]]:
        """The parameters that distinguish its runs, by baseline; see `distinguishing_parameters`."""
        return distinguishing_parameters(self.specification.parts.candidates)

    def phases(self) -> type["Phases"]:
        """What runs, in which order."""
        from seedwise.search.execution.phases import Phases

        return Phases

    def total(self, state: State) -> int | None:
        """How many runs there will be in all; None where only hours bound them."""
        return self.specification.parts.total_runs(state)

    def phase(self, state: State) -> str:
        """Where it is, in a word."""
        if state.stopped:
            return "confirmation" if state.frozen else "writing the results"
        return "baselines" if state.policy_stopped else "search"

    def named(self, state: State, run: Run) -> str:
        """What a person calls the configuration of a run."""
        return run.config_id

    def plan(self) -> list[str]:
        """What there is to do, for a dry run."""
        parts, lines = self.specification.parts, []
        if baselines := parts.baselines:
            n, each = len(baselines.configurations), baselines.replicates
            lines.append(f"baselines: {n} configurations at {each} replicates, beside the budget")
        return [f"space: {parts.space.size()}", f"budget: {parts.policy.in_words()}", *lines]

    def write(self, results: Results, folder: Path, console: Console) -> dict:
        """Write its files into its folder. What it returns goes into the ledger's last line."""
        leaderboard.write(results.leaderboard, folder)
        if results.state.succeeded:
            export_best(results, folder / BEST)
        try:
            write_report(results, folder, ended=results.state.stopped)
        except Exception as error:  # a page can be written again at any time: it must not keep a search from ending
            again = f"Try again with: {called('report', folder)}"
            console.print(f"report.html was not written ({error!r}). {again}", style="yellow", soft_wrap=True)
        return {}

    def show(self, results: Results, folder: Path, console: Console) -> bool:
        """Say what came out and what to do next; whether anything did."""
        show_leaderboard(results, console)
        succeeded = results.state.succeeded
        best = {"best": BEST} if succeeded else {}
        files = {"leaderboard": "leaderboard.csv", **best, "report": REPORT}
        console.print("    ".join(f"{what}: {folder}/{name}" for what, name in files.items()), soft_wrap=True)
        if self.specification.tracking.uri != "off":
            console.print(f"compare in MLflow: {called('ui', folder)}", soft_wrap=True)
        if succeeded:
            console.print(f"rerun the best: {called('run', folder / BEST)}", soft_wrap=True)
        return succeeded

    def report(self, results: Results, folder: Path, console: Console) -> None:
        """Tell and write the report anew, in the middle of a search too."""
        from seedwise.search.report.terminal import show

        show(results, folder, console)
        try:
            path = write_report(results, folder, ended=results.state.finished)
        except OSError as error:
            raise RequestError(f"{folder}/{REPORT}", str(error.strerror), "Make room for it there.") from error
        console.print(f"wrote {path}", soft_wrap=True)


class Decomposition(Search):
    """Where the spread of one configuration comes from: one stream of randomness varied at a time."""

    apart = "one configuration, streams apart"

    @staticmethod
    def holds(specification: "Specification") -> bool:
        return bool(specification.decompose)

    def write(self, results: Results, folder: Path, console: Console) -> dict:
        leaderboard.write(results.leaderboard, folder)
        decomposition.write(results, folder)
        return {"files": ["leaderboard.json", "leaderboard.csv", decomposition.FILE]}

    def show(self, results: Results, folder: Path, console: Console) -> bool:
        decomposition.show(results, console)
        return any(not run.failed for run in results.state.runs())

    def report(self, results: Results, folder: Path, console: Console) -> None:
        raise refusal(folder, self, "Report on")


class Landscape(Search):
    """What lies between trained models of one configuration: all its runs are planned."""

    apart = "the landscape of one configuration"

    @staticmethod
    def holds(specification: "Specification") -> bool:
        return specification.landscape is not None

    def method(self) -> type:
        return import_path(LANDSCAPE, "landscape")

    def searched(self) -> dict[str, list[str]]:
        return {self.specification.landscape.baseline or "": [field.name for field in fields(Job)]}

    def phases(self) -> type["Phases"]:
        from seedwise.search.studies.landscape_phases import LandscapePhases

        return LandscapePhases

    def total(self, state: State) -> int | None:
        return len(self.specification.parts.plan.runs)

    def phase(self, state: State) -> str:
        return "landscape"

    def named(self, state: State, run: Run) -> str:
        """What is done there: its id says nothing."""
        params = state.configurations[run.config_id].params
        names = state.search["searched"][params.get("baseline", "")]
        return " ".join(short(name, params[name]) for name in names if name in params)

    def plan(self) -> list[str]:
        return [f"landscape: {self.specification.parts.plan.in_words()}"]

    def write(self, results: Results, folder: Path, console: Console) -> dict:
        from seedwise.search.studies import landscape_files

        return {"files": landscape_files.write(self.specification.parts.plan, results.state, folder, console)}

    def show(self, results: Results, folder: Path, console: Console) -> bool:
        from seedwise.search.studies import landscape_files

        return landscape_files.show(folder, console)

    def report(self, results: Results, folder: Path, console: Console) -> None:
        self.write(results, folder, console)
        self.show(results, folder, console)


STUDIES: list[type[Search]] = [Landscape, Decomposition, Search]  # the first that holds a specification


def study_of(specification: "Specification") -> Search:
    """The study that a specification asks for."""
    return next(kind for kind in STUDIES if kind.holds(specification))(specification)


def refusal(folder: Path, study: Search, action: str) -> RequestError:
    """Why what compares configurations cannot be done with a folder."""
    return RequestError(str(folder), study.apart, f"{action} the search it came from.")
