"""Work that a search does only once, and adding a kind of study by a class."""

import sys
from collections import Counter

import pytest

from seedwise import yaml12
from seedwise.search.commands.main import main
from seedwise.search.decide import policy
from seedwise.search.decide.next_run import Decisions
from seedwise.search.ledger import file, state
from seedwise.search.ledger.state import SEARCH
from seedwise.search.ranking import leaderboard
from seedwise.search.report.live import Progress
from seedwise.search.studies import study
from seedwise.spaces import space
from tests import tiny
from tests.search.studies.test_demo import SMALL
from tests.search.studies.test_search import run, write


def count_calls(monkeypatch, function):
    """Count the calls of a function, under whatever name modules have imported it."""
    calls = []

    def counted(*arguments, **options):
        calls.append(options)
        return function(*arguments, **options)

    for module in [module for module in sys.modules.values() if module.__name__.startswith("seedwise.")]:
        for name, known in list(vars(module).items()):
            if known is function:
                monkeypatch.setattr(module, name, counted)
    return calls


@pytest.fixture
def counts(tmp_path, fake_loop, monkeypatch):
    """Counters of the work that a search does once, filled during the test, and a small task."""
    tiny.topics(tmp_path / "topics", rows={"train": 48, "dev": 12, "test": 4})
    built, made = Counter(), space.Space.__post_init__

    def counted(self):
        built[self.key, self.function, str(self.overrides)] += 1
        made(self)

    monkeypatch.setattr(space.Space, "__post_init__", counted)
    counted_functions = state.replay, leaderboard.leaderboard, leaderboard.underspecification, policy.policy_of
    return built, {function.__name__: count_calls(monkeypatch, function) for function in counted_functions}


EAR = ["budget.runs=3", "replicates={policy: fixed, n: 1, confirm: {top: 1, fresh: 1}}", "task.targets=[qan]"]
EAR += ["space={epochs: 1, batch_size: 4, push: none, pull: none}", "enqueue=[]"]


@pytest.mark.parametrize(
    ("name", "changes", "baselines"),
    [("demo", SMALL, "{constant: {}, ls: {}}"), ("demo-ear", EAR, "{plain: {lr: 0.001}}")],
)
def test_a_search_builds_each_space_replays_its_ledger_and_ranks_once(tmp_path, counts, name, changes, baselines):
    built, calls = counts
    more = [f"task.data={tmp_path / 'topics'}", f"baselines={baselines}", "tracking.uri=off"]
    run(tmp_path, "search", name, *tiny.words([*changes, *more]))
    assert sorted(key for key, _, _ in built) == sorted(
        ["space", *(f"baselines.{name}" for name in yaml12.load(baselines))]
    )
    assert set(built.values()) == {1}
    assert {name: len(made) for name, made in calls.items()} == dict.fromkeys(calls, 1)
    built.clear()
    run(tmp_path, "report", str(tmp_path / "runs" / name))
    assert set(built.values()) == {1}


def test_a_landscape_replays_its_ledger_once_and_makes_no_policy_and_no_leaderboard(tmp_path, counts):
    _, calls = counts
    changes = [f"task.data={tmp_path / 'topics'}", "task.targets=[]", "tracking.uri=off", "landscape.directions=0"]
    changes += ["enqueue=[{push: none, pull: none, epochs: 1, batch_size: 4}]"]
    run(tmp_path, "landscape", "demo-ear", "--seeds-only", "--replicates", 2, *tiny.words(changes))
    assert {name: len(made) for name, made in calls.items() if made} == {"replay": 1}


class Counting(Progress):
    def score(self, run):
        return "counted"


class Toy(study.Search):
    """Counts the runs of its only phase, and compares nothing."""

    cannot_compare = "it counts runs"
    progress = Counting

    @staticmethod
    def matches(specification):
        return specification.name.startswith("toy")

    def total_runs(self, state):
        return 3

    def run(self, phases):
        parts = self.specification.parts
        decisions = Decisions(SEARCH, parts.policy, parts.estimator.selection, parts.proposer)
        phases.ledger.append({"event": "freeze", "because": phases.run(decisions), "configs": []})

    def write(self, results, folder, console):
        (folder / "count.txt").write_text(f"{results.state.results}\n")
        return {"files": ["count.txt"]}

    def show(self, results, folder, console):
        console.print(f"{results.state.results} runs were counted")
        return True


def test_a_kind_of_study_is_added_by_a_class_and_a_line(tmp_path, fake_loop, monkeypatch, capsys):
    monkeypatch.setattr(study, "STUDIES", [Toy, *study.STUDIES])
    replicates = {"policy": "fixed", "n": 1, "confirm": {"top": 1, "fresh": 1}}
    write(tmp_path, name="toy", budget={"runs": 4}, replicates=replicates)  # a search would confirm with the fourth
    output = run(tmp_path, "search", "spec.yaml")
    assert "3/3  " in output
    assert output.count(": done, counted (") == 3
    assert "3 runs were counted" in output
    folder = tmp_path / "runs" / "toy"
    assert (folder / "count.txt").read_text() == "3\n"
    assert not (folder / "leaderboard.json").exists()
    *_, last = file.scan(folder / "ledger.jsonl")[0]
    assert (last["event"], last["files"]) == ("end", ["count.txt"])
    assert main(["compare", str(folder)]) == 2
    problem = "it counts runs. Compare the search it came from.\n"
    assert capsys.readouterr().err == f"seedwise: {folder}: {problem}"
