"""What a search does once, and kinds of studies that are added by a class."""

import sys
from collections import Counter

from seedwise.search.commands.main import main
from seedwise.search.ledger import state as ledger
from seedwise.search.ranking import leaderboard
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


def test_a_demo_search_builds_each_space_replays_its_ledger_and_ranks_once(tmp_path, fake_loop, monkeypatch):
    tiny.topics(tmp_path / "topics")
    built, made = Counter(), space.Space.__post_init__

    def counted(self):
        built[self.key, self.function, str(self.overrides)] += 1
        made(self)

    monkeypatch.setattr(space.Space, "__post_init__", counted)
    space._made.cache_clear()  # of the searches before
    replayed, ranked = (count_calls(monkeypatch, one) for one in (ledger.replay, leaderboard.leaderboard))
    priced = count_calls(monkeypatch, leaderboard.underspecification)
    changes = [*SMALL, f"task.data={tmp_path / 'topics'}", "baselines={constant: {}, ls: {}}", "tracking.uri=off"]
    run(tmp_path, "search", "demo", *tiny.words(changes))
    assert Counter(key for key, _, _ in built) == {"space": 1, "baselines.constant": 1, "baselines.ls": 1}
    assert set(built.values()) == {1}
    assert (len(replayed), len(ranked), len(priced)) == (1, 1, 1)


class Toy(study.Search):
    """Counts its runs, and compares nothing."""

    cannot_compare = "it counts runs"

    @staticmethod
    def matches(specification):
        return specification.name.startswith("toy")

    def write(self, results, folder, console):
        (folder / "count.txt").write_text(f"{results.state.results}\n")
        return {"files": ["count.txt"]}

    def show(self, results, folder, console):
        console.print(f"{results.state.results} runs were counted")
        return True


def test_a_kind_of_study_is_added_by_a_class_and_a_line(tmp_path, fake_loop, monkeypatch, capsys):
    monkeypatch.setattr(study, "STUDIES", [Toy, *study.STUDIES])
    write(tmp_path, name="toy", budget={"runs": 3})
    assert "3 runs were counted" in run(tmp_path, "search", "spec.yaml")
    folder = tmp_path / "runs" / "toy"
    assert (folder / "count.txt").read_text() == "3\n"
    assert not (folder / "leaderboard.json").exists()
    *_, last = ledger.scan(folder / "ledger.jsonl")[0]
    assert (last["event"], last["files"]) == ("end", ["count.txt"])
    assert main(["compare", str(folder)]) == 2
    problem = "it counts runs. Compare the search it came from.\n"
    assert capsys.readouterr().err == f"seedwise: {folder}: {problem}"
