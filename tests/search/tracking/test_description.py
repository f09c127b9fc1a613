"""The description of a search in MLflow, where values are missing."""

import pytest

from seedwise.search.ranking.selection import Selection
from seedwise.search.tracking.description import description
from seedwise.search.tracking.scores import Scores
from tests.search.hand_written import HandWritten, metrics, specification


def described(search, names):
    state = search.state
    scores = Scores(state, Selection.from_specification(search.resolved))
    for run in state.runs():
        scores.add(run)
    return description(state, scores, names)


@pytest.mark.parametrize(
    ("second", "p_best"), [((), "-"), ((None,), "-"), ((0.7,), "1.00")], ids=["none", "failed", "done"]
)
def test_p_best_needs_a_configuration_with_two_scores(second, p_best):
    """Failed seeds, baselines and the confirmation do not count as second scores."""
    search = HandWritten(specification())
    search.ask("a", k=50, weighting="standard")
    search.ask("flat", baseline="constant")
    for replicate, score in enumerate((0.8, *second)):
        search.run("a", replicate, score and metrics("dev", score, 0.6, 0.5))
    for replicate in (0, 1):
        search.run("flat", replicate, metrics("dev", 0.1, 0.1, 0.1))
    estimates = {"a": {"estimate": 0.8, "estimate_sd": 0.01, "p_best": 1.0}}
    search.tell("freeze", because="the budget is spent", configs=["a"], baselines=["flat"], estimates=estimates)
    for replicate in (1000, 1001):
        search.run("a", replicate, metrics("dev", 0.75, 0.6, 0.5))
    text = described(search, {"a": "k=50 standard"})
    assert text.startswith("Ranked by macro_f1 on source_dev. The search phase is over")
    (line,) = [line for line in text.splitlines() if "`a`" in line]
    assert line.split(" | ")[5] == p_best


@pytest.mark.parametrize(("configs", "next_step"), [(["a"], "fresh seeds run"), ([], "results are written")])
def test_after_the_search_phase_it_says_what_comes_next(configs, next_step):
    """A landscape, or a search without a confirmation, has no fresh seeds."""
    story = HandWritten(specification())
    story.ask("a", k=50, weighting="standard")
    story.run("a", 0, metrics("dev", 0.8, 0.6, 0.5))
    story.tell("freeze", because="all is done", configs=configs)
    assert described(story, {}).startswith(f"The search phase is over (all is done), {next_step}.")  # nothing is ranked
