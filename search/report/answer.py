"""The answer of a search in sentences: what was chosen, how sure that is, and how to run it again."""

from collections.abc import Iterator
from statistics import fmean

from seedwise.search.ledger.state import CONFIRM, SEARCH
from seedwise.search.ranking.difference import Statement, statement
from seedwise.search.ranking.leaderboard import in_words
from seedwise.search.ranking.results import Results
from seedwise.search.ranking.selection import Selection
from seedwise.search.report.charts import in_interval
from seedwise.search.report.failures import counted
from seedwise.search.report.table import NO_REPLICATES
from seedwise.text import number

NAMED = 5  # tied configurations that are named


def answer(found: Results, rerun: str) -> list[str]:
    """The sentences, the most important first. `rerun`, the command that runs the chosen again, ends the last one."""
    if not found.ranked:
        return ["No run of this search has finished with a score yet, so there is nothing to choose from."]
    if not found.measured:
        runs = sum(row["replicates"] for row in found.ranked)
        return [f"No run of this search has a score, {counted(runs)} failed, so there is nothing to choose from."]
    return [
        *_chosen(found),
        *_ties(found),
        *_against_baselines(found),
        *([_sentence(price)] if (price := in_words(found.underspecification)) else []),
        f"Run it again with: {rerun}",
    ]


def _chosen(found: Results) -> Iterator[str]:
    row, fresh = found.chosen, found.chosen["fresh"]
    verb = "Chosen" if found.state.stopped else "Best so far"
    params = found.in_short(row["params"])
    yield f"{verb}: {row['config_id']}{params and f' ({params})'}, by {found.selection.label}."
    promised = f"estimate from {_seeds(row)} is {in_interval(row, 'estimate', 'estimate')}"
    luck = "so this still holds the luck that being the best of many brings."
    if fresh is None:
        yield f"Its {promised}. It has not run on fresh seeds, {luck}"
        return
    if found.only_failed(row["config_id"], CONFIRM):
        yield f"It failed on {_all(fresh['replicates'])} fresh seeds, and has no score there. Its {promised}, {luck}"
        return
    yield (
        f"On {_seeds(fresh, 'fresh ')} it scores {in_interval(fresh, 'mean', 'ci')}; the estimate of the search was "
        f"{number(row['estimate'])}."
    )
    if tests := fresh["scores"].get(f"test/{found.metric}"):
        told = ", ".join(f"{name} {in_interval(tests[name], 'mean', 'ci')}" for name in found.languages(tests))
        yield f"Test {found.metric} {_tested(tests, fresh['replicates'])}: {told}."


def _seeds(row: dict, kind: str = "") -> str:
    counted_as = " (counted as the lowest score)" if kind else ""  # in an estimate a failure counts as lower still
    failed = f", {row['failed']} of which failed{counted_as}," if row["failed"] else ""
    return f"{row['replicates']} {kind}seed{'' if row['replicates'] == 1 else 's'}{failed}"


def _all(count: int) -> str:
    return {1: "its only", 2: "both"}.get(count, f"all {count}")


def _tested(tests: dict[str, dict], seeds: int) -> str:
    """On which seeds test scores are: a run that failed has none."""
    counts = sorted({of["n"] for of in tests.values()})
    if counts == [seeds]:
        return "on the same seeds"
    return f"on {' to '.join(map(str, counts))} of these {seeds} seeds, those whose runs have one"


def _ties(found: Results) -> Iterator[str]:
    if not found.estimate.replicated:
        yield _sentence(NO_REPLICATES)
        return
    tied = [row["config_id"] for row in found.ranked if row["tied"] and row is not found.chosen]
    if not tied:
        yield f"No other of the {len(found.ranked)} configurations is tied with it."
        return
    more = f" and {len(tied) - NAMED} more" if len(tied) > NAMED else ""
    yield f"Of {len(found.ranked)} these cannot be told apart from the best: {', '.join(tied[:NAMED])}{more}."


def _against_baselines(found: Results) -> Iterator[str]:
    """Differences to the best of each baseline, seed by seed, on fresh seeds where both have them."""
    for row in found.baselines:
        phase = CONFIRM if row["fresh"] and found.chosen["fresh"] else SEARCH
        seeds = "fresh seeds" if phase == CONFIRM else "seeds of the search"
        if found.only_failed(row["config_id"], phase):
            yield f"The baseline {row['baseline']} failed on all its {seeds}: there is no difference to tell."
        elif not found.only_failed(found.chosen["config_id"], phase):
            for what, by in _compared(found, phase).items():
                if told := _difference(found, row, phase, by):
                    yield f"By {what}, on the same {seeds}, with 95 % intervals: {told.in_words()}."


def _compared(found: Results, phase: str) -> dict[str, list[Selection]]:
    """The scores that a baseline is compared in, as means of these: the one that ranks, and that of the targets."""
    split = "test" if phase == CONFIRM else "dev"
    names = [f"{split}/{found.metric}/{language}" for language in found.selection.targets]
    targets = {f"{found.metric} on target {split}": [Selection(name, "metric", "mean", "", ()) for name in names]}
    return {found.selection.label: [found.selection]} | (targets if names else {})


def _difference(found: Results, row: dict, phase: str, by: list[Selection]) -> Statement | None:
    """Chosen against baseline at every replicate that both have done; None where they share no score."""
    chosen, baseline = (found.state.configurations[key] for key in (found.chosen["config_id"], row["config_id"]))
    tables = [found.scores(phase, selection) for selection in by]
    both = []
    for one in (chosen, baseline):
        scores = [table.get(one.config_id, {}) for table in tables]
        told = [replicate for replicate in scores[0] if all(of.get(replicate) is not None for of in scores)]
        both.append({replicate: fmean(of[replicate] for of in scores) for replicate in told})
    shared = sorted(both[0].keys() & both[1].keys())
    if not shared:
        return None
    first, second = ({replicate: side[replicate] for replicate in shared} for side in both)
    failed = sum(
        one.runs[replicate].failed or any(selection.score(one.runs[replicate].metrics) is None for selection in by)
        for one in (chosen, baseline)
        for replicate in shared
    )
    names = (chosen.config_id, f"the baseline {row['baseline']}")
    return statement(*names, "", first, second, paired=True, failed=failed)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
