"""The answer of a search in sentences: the chosen configuration, how certain it is, and how to run it again."""

from collections.abc import Iterator

from seedwise.search.ledger.state import CONFIRM, SEARCH
from seedwise.search.ranking.leaderboard import in_words
from seedwise.search.ranking.results import Results
from seedwise.search.report.charts import in_interval
from seedwise.search.report.compare import Side, by_metric
from seedwise.search.report.failures import count_runs
from seedwise.search.report.table import NO_REPLICATES
from seedwise.text import number

NAMED_TIES = 5
TOO_SHORT = (
    "Some runs predict a single class, and there are too few seeds to know how often: these intervals are too short, "
    "and contain the true mean in fewer than 95 of 100 searches."
)


def answer(results: Results, rerun: str) -> list[str]:
    """The sentences, the most important first. The last has `rerun`, the command to rerun the choice."""
    if not results.ranked:
        return ["No run of this search has finished with a score yet, so there is nothing to choose from."]
    if not results.measured:
        runs = sum(row["replicates"] for row in results.ranked)
        return [f"No run of this search has a score, {count_runs(runs)} failed, so there is nothing to choose from."]
    return [
        *_chosen(results),
        _ties(results),
        *_against_baselines(results),
        *([_sentence(price)] if (price := in_words(results.underspecification)) else []),
        f"Run it again with: {rerun}",
    ]


def _chosen(results: Results) -> Iterator[str]:
    row, fresh = results.chosen, results.chosen["fresh"]
    verb = "Chosen" if results.state.stopped else "Best so far"
    params = results.in_short(row["params"])
    yield f"{verb}: {row['config_id']}{params and f' ({params})'}, by {results.selection.label}."
    estimate = f"estimate from {_seeds(row)} is {in_interval(row, 'estimate', 'estimate')}"
    luck = "optimistic: the best of many was lucky too."
    if fresh is None:
        yield f"Its {estimate}. It has not run on fresh seeds, so the estimate is {luck}"
        return
    if results.only_failed(row["config_id"], CONFIRM):
        count = {1: "its only", 2: "both"}.get(fresh["replicates"], f"all {fresh['replicates']}")
        yield f"It failed on {count} fresh seeds, and has no score there. Its {estimate}, which is {luck}"
        return
    yield (
        f"On {_seeds(fresh, 'fresh ')} it scores {in_interval(fresh, 'mean', 'ci')}; the estimate of the search was "
        f"{number(row['estimate'])}."
    )
    if tests := fresh["scores"].get(f"test/{results.metric}"):
        scores = ", ".join(f"{name} {in_interval(tests[name], 'mean', 'ci')}" for name in results.languages(tests))
        yield f"Test {results.metric} {_tested(tests, fresh['replicates'])}: {scores}."
    if results.fresh_intervals_too_short:
        yield TOO_SHORT


def _seeds(row: dict, kind: str = "") -> str:
    failed = f", {row['failed']} of which failed (counted as the worst score)," if row["failed"] else ""
    return f"{row['replicates']} {kind}seed{'' if row['replicates'] == 1 else 's'}{failed}"


def _tested(tests: dict[str, dict], seeds: int) -> str:
    """Say on which seeds there are test scores: failed runs have none."""
    counts = sorted({scores["n"] for scores in tests.values()})
    if counts == [seeds]:
        return "on the same seeds"
    return f"on {' to '.join(map(str, counts))} of these {seeds} seeds, as the other runs failed"


def _ties(results: Results) -> str:
    if not results.estimate.replicated:
        return _sentence(NO_REPLICATES)
    tied = [row["config_id"] for row in results.ranked if row["tied"] and row is not results.chosen]
    if not tied:
        return f"No other of the {len(results.ranked)} configurations is tied with it."
    more = f" and {len(tied) - NAMED_TIES} more" if len(tied) > NAMED_TIES else ""
    named = ", ".join(tied[:NAMED_TIES])
    return f"Of {len(results.ranked)} configurations, these cannot be told apart from the best: {named}{more}."


def _against_baselines(results: Results) -> Iterator[str]:
    """Differences from the best configuration of each baseline, seed by seed, on fresh seeds if both ran on them.

    Both the ranking score and the mean over target languages are compared.
    """
    chosen = results.chosen["config_id"]
    for row in results.baselines:
        fresh = row["fresh"] and results.chosen["fresh"]
        phase, seeds, split = (CONFIRM, "fresh seeds", "test") if fresh else (SEARCH, "seeds of the search", "dev")
        if results.only_failed(row["config_id"], phase):
            yield f"The baseline {row['baseline']} failed on all its {seeds}, so it cannot be compared."
            continue
        if results.only_failed(chosen, phase):
            continue
        scores = {results.selection.label: [results.selection]}
        if targets := results.selection.targets:
            names = [f"{split}/{results.metric}/{language}" for language in targets]
            scores[f"{results.metric} on target {split}"] = list(map(by_metric, names))
        for label, selections in scores.items():
            ours = Side.of(chosen, results, chosen, phase, selections)
            theirs = Side.of(f"the baseline {row['baseline']}", results, row["config_id"], phase, selections)
            if ours.scores.keys() & theirs.scores.keys():
                difference = ours.against(theirs, paired=True).in_words()
                yield f"By {label}, on the same {seeds}, with 95 % intervals: {difference}."


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
