"""The kinds of study that a search folder can hold: what each runs, writes and prints.

To add a kind, write a class with these methods and list it in `STUDIES`.
"""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.console import Console

from seedwise.errors import RequestError
from seedwise.files import write_atomically
from seedwise.folder import BEST, LEADERBOARD, LEADERBOARD_CSV, MODELS, REPORT
from seedwise.program import called
from seedwise.search.decide.baselines import allowances, distinguishing_parameters, total_runs
from seedwise.search.decide.landscape_plan import Plan
from seedwise.search.decide.next_run import Decisions, freeze
from seedwise.search.decide.policy import Confirmation
from seedwise.search.export.best import export_best
from seedwise.search.landscape.page import NUMBERS, page, read_numbers
from seedwise.search.landscape.sentences import sentences
from seedwise.search.ledger.state import CONFIRM, PLANNED, SEARCH, Run, State
from seedwise.search.ranking.results import Results
from seedwise.search.report.live import Progress
from seedwise.search.report.table import show_leaderboard, write_leaderboard
from seedwise.search.spec.schema import Specification
from seedwise.search.studies import decomposition
from seedwise.search.studies.report import write_report
from seedwise.text import short
from seedwise.trainables.landscape.jobs import Job

if TYPE_CHECKING:
    from seedwise.search.execution.phases import Phases


@dataclass(frozen=True)
class Search:
    """A search: configurations compete, and the best are confirmed. Other kinds override some of its methods."""

    specification: Specification
    cannot_compare: ClassVar[str] = ""  # why a folder of this kind cannot be compared; empty if it can
    progress: ClassVar[type[Progress]] = Progress  # what a terminal shows while it runs

    @staticmethod
    def matches(specification: Specification) -> bool:
        """Whether a specification asks for this kind of study."""
        return True

    def method(self) -> type:
        """The method of all its runs."""
        return self.specification.parts.method

    def searched(self) -> dict[str, list[str]]:
        """The parameters that distinguish its runs, by baseline; see `distinguishing_parameters`."""
        return distinguishing_parameters(self.specification.parts.candidates)

    def largest(self) -> dict:
        """The parameters of the run that takes most memory, as the method estimates it."""
        return max(self.specification.parts.space.samples, key=self.method().size)

    def total_runs(self, state: State) -> int | None:
        """How many runs there will be, with baselines and confirmation; None if only hours limit them."""
        parts = self.specification.parts
        return total_runs(parts.policy, parts.baselines, self.specification.replicates.confirm, state)

    def run(self, phases: "Phases") -> None:
        """Run what is left of the search, choose the configurations to confirm, and run what is left to confirm."""
        ledger, parts, confirm = phases.ledger, self.specification.parts, self.specification.replicates.confirm
        policy, estimator = parts.policy, parts.estimator
        if not ledger.state.stopped:
            proposed = parts.proposer, parts.baselines, self.specification.prune
            search = Decisions(SEARCH, policy, estimator.selection, *proposed, reserved=policy.reserve)
            ledger.append(freeze(ledger.state, estimator, phases.run(search), confirm.top))
        if ledger.state.frozen:
            phases.run(Decisions(CONFIRM, Confirmation(confirm.fresh), estimator.selection))

    def phase(self, state: State) -> str:
        """What the study is doing now, for `status`."""
        if state.stopped:
            return "confirmation" if state.frozen else "writing the results"
        return "baselines" if state.policy_stopped else "search"

    def label(self, state: State, run: Run) -> str:
        """A readable name for the configuration of a run."""
        return run.config_id

    def dry_run(self) -> list[str]:
        """Lines that say what the study would run."""
        parts = self.specification.parts
        lines = [f"space: {parts.space.size()}", f"budget: {parts.policy.in_words()}"]
        if baselines := parts.baselines:
            n, each = len(baselines.configurations), baselines.replicates
            lines.append(f"baselines: {n} configurations at {each} replicates, beside the budget")
            lines += [f"  {line}" for line in self.allowances()]
        return lines

    def allowances(self) -> list[str]:
        """What each baseline was allowed, and what the method, in lines; none without baselines."""
        parts = self.specification.parts
        try:
            return allowances(parts.baselines, parts.policy, parts.space) if parts.baselines else []
        except RequestError:  # the policy is a person's own, and its module is gone
            return []

    def write(self, results: Results, folder: Path, console: Console) -> dict:
        """Write the files of the results. Returns keys to add to the ledger's last line."""
        write_leaderboard(results.leaderboard, folder)
        if results.state.succeeded:
            export_best(results, folder / BEST)
        with optional(REPORT, folder, console):
            write_report(results, folder, ended=results.state.stopped, allowed=self.allowances())
        return {}

    def show(self, results: Results, folder: Path, console: Console) -> bool:
        """Print the results and what to do next. Returns whether there is a result."""
        show_leaderboard(results, console)
        succeeded = results.state.succeeded
        best = {"best": BEST} if succeeded else {}
        show_files({"leaderboard": LEADERBOARD_CSV, **best, "report": REPORT}, folder, console)
        if self.specification.tracking.uri != "off":
            console.print(f"compare in MLflow: {called('ui', folder)}", soft_wrap=True)
        if succeeded:
            console.print(f"rerun the best: {called('run', folder / BEST)}", soft_wrap=True)
        return succeeded

    def report(self, results: Results, folder: Path, console: Console) -> None:
        """Print and write the report, also while the search runs."""
        from seedwise.search.report.terminal import show

        allowed = self.allowances()
        show(results, folder, console, allowed)
        try:
            path = write_report(results, folder, ended=results.state.finished, allowed=allowed)
        except OSError as error:
            raise RequestError(f"{folder}/{REPORT}", str(error.strerror), "Make room for it there.") from error
        console.print(f"wrote {path}", soft_wrap=True)


class Decomposition(Search):
    """A search that varies one stream of randomness at a time, to explain the spread of one configuration."""

    cannot_compare = "it holds the decomposition of one configuration"

    @staticmethod
    def matches(specification: Specification) -> bool:
        return bool(specification.decompose)

    def write(self, results: Results, folder: Path, console: Console) -> dict:
        write_leaderboard(results.leaderboard, folder)
        decomposition.write(results, folder)
        return {"files": [LEADERBOARD, LEADERBOARD_CSV, decomposition.FILE]}

    def show(self, results: Results, folder: Path, console: Console) -> bool:
        decomposition.show(results, console)
        return any(not run.failed for run in results.state.runs())

    def report(self, results: Results, folder: Path, console: Console) -> None:
        raise refusal(folder, self, "Report on")


class PointsProgress(Progress):
    """Shows how many points a run has evaluated, since the metrics of its last point are no result."""

    def score(self, run: Run) -> str:
        return f"{run.step} points" if "point/a" in run.metrics else super().score(run)


class Landscape(Search):
    """The loss landscape between trained models of one configuration. All its runs are planned in advance."""

    cannot_compare = "it holds the landscape of one configuration"
    progress = PointsProgress

    @staticmethod
    def matches(specification: Specification) -> bool:
        return specification.landscape is not None

    def method(self) -> type:
        from seedwise.trainables.landscape import trainable

        return trainable.Landscape

    def searched(self) -> dict[str, list[str]]:
        return {self.specification.landscape.baseline or "": [field.name for field in fields(Job)]}

    @cached_property
    def plan(self) -> Plan:
        return Plan.of(self.specification)

    def largest(self) -> dict:
        return list(self.plan.trained.values())[-1].params  # trained on both languages, if any model of the plan is

    def total_runs(self, state: State) -> int:
        return len(self.plan.runs)

    def run(self, phases: "Phases") -> None:
        if not phases.ledger.state.stopped:
            selection = self.specification.parts.estimator.selection  # for the live view while models train
            because = phases.run(Decisions(PLANNED, self.plan, selection, plan=self.plan))
            phases.ledger.append({"event": "freeze", "because": because, "configs": []})

    def phase(self, state: State) -> str:
        return "landscape"

    def label(self, state: State, run: Run) -> str:
        """The parameters of a run as text, since its id does not show what it does."""
        params = state.configurations[run.config_id].params
        names = state.search["searched"][params.get("baseline", "")]
        return " ".join(short(name, params[name]) for name in names if name in params)

    def dry_run(self) -> list[str]:
        return [f"landscape: {self.plan.in_words()}"]

    def write(self, results: Results, folder: Path, console: Console) -> dict:
        from seedwise.search.execution.products import Products  # imports Ray
        from seedwise.search.landscape.numbers import Numbers

        numbers = Numbers(self.plan, results.state, Products(folder / MODELS)).all()
        numbers["sentences"] = sentences(numbers)
        write_atomically(folder / NUMBERS, json.dumps(numbers, allow_nan=False, indent=1) + "\n")
        with optional(REPORT, folder, console):
            write_atomically(folder / REPORT, page(numbers))
        return {"files": [name for name in (NUMBERS, REPORT) if (folder / name).exists()]}

    def show(self, results: Results, folder: Path, console: Console) -> bool:
        numbers = read_numbers(folder)
        for sentence in numbers["sentences"]:
            console.print(sentence, soft_wrap=True)
        show_files({"report": REPORT, "numbers": NUMBERS, "models": MODELS}, folder, console)
        if origin := numbers["options"].get("origin"):
            command = called("report", origin)
            console.print(f"to see this landscape in the report of its search: {command}", soft_wrap=True)
        return any(numbers[kind] for kind in ("lines", "planes", "seeds", "around"))

    def report(self, results: Results, folder: Path, console: Console) -> None:
        self.write(results, folder, console)
        self.show(results, folder, console)


@contextlib.contextmanager
def optional(name: str, folder: Path, console: Console) -> Iterator[None]:
    """Print an error of this block instead of raising it: the page can be written again at any time."""
    try:
        yield
    except Exception as error:
        again = f"Try again with: {called('report', folder)}"
        console.print(f"{name} was not written ({error!r}). {again}", style="yellow", soft_wrap=True)


def show_files(files: dict[str, str], folder: Path, console: Console) -> None:
    console.print("    ".join(f"{label}: {folder}/{name}" for label, name in files.items()), soft_wrap=True)


STUDIES: list[type[Search]] = [Landscape, Decomposition, Search]  # the first that matches a specification


def study_of(specification: Specification) -> Search:
    """The study that a specification asks for."""
    return next(kind for kind in STUDIES if kind.matches(specification))(specification)


def refusal(folder: Path, study: Search, action: str) -> RequestError:
    """The error of an action, such as "Compare", on a study without competing configurations."""
    return RequestError(str(folder), study.cannot_compare, f"{action} the search it came from.")
