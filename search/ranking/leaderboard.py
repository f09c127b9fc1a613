"""The leaderboard: one row per configuration, best first, as data, as files and as a table."""

import csv
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from seedwise.files import write_atomically, writing
from seedwise.search.ledger.state import CONFIRM, SEARCH, Configuration, Run, State
from seedwise.search.ranking.baseline_scores import best_of_each, scores_of, title
from seedwise.search.ranking.duplicates import duplicates
from seedwise.search.ranking.estimate import Estimate, summary
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.ranks import rank_correlation
from seedwise.search.ranking.selection import Selection
from seedwise.text import number

SCORE = ("mean", "sd", "ci_low", "ci_high")


def leaderboard(state: State, estimator: Estimator, most: int | None = None) -> list[dict]:
    """The rows of `leaderboard.json`, best estimate first; configurations without a finished run are left out.

    Only the first `most` are made where a live view needs no more.

    `mean`, `sd` and the interval are those of the configuration's own replicates; `estimate` is the posterior mean that
    ranks. Pruned configurations come last and have no rank: their scores are of shorter runs. `fresh` is what the
    confirmation says, for those that were in it. Where `replicated` is false no configuration of the search has two
    scores: `p_best` and `tied` then rest on a guess of the noise between seeds, and no view shows them.
    """
    found = estimator.estimate(state)
    if found is None:
        return []
    selection = estimator.selection
    scores, fresh = selection.scores(state), selection.scores(state, CONFIRM)
    few = found.ranking if selection.second else found.ranking[:most]  # the front needs them all
    rows = [
        _row(
            state.configurations[found.ids[index]], scores[found.ids[index]], fresh.get(found.ids[index]), found, index
        )
        for index in few
    ]
    repeated = duplicates(state, [row["config_id"] for row in rows])
    for row in rows:
        row["same_as"] = repeated.get(row["config_id"], "")
    if selection.second:
        mark_front(rows, *selection.second)
    pruned = [one for one in state.configurations.values() if one.pruned]
    rows += [_pruned(one) for one in pruned]
    rows += _baselines(state, selection) if most is None else []
    return [{"selected_by": selection.label, "replicated": found.replicated, **row} for row in rows][:most]


def _row(
    configuration: Configuration, scores: dict[int, float], fresh: dict[int, float] | None, found: Estimate, index: int
) -> dict:
    runs = [configuration.runs[replicate] for replicate in sorted(scores)]
    low, high = found.interval(index)
    return (
        _unranked(configuration)
        | _summarised(runs, [scores[run.replicate] for run in runs])
        | {
            "estimate": float(found.mean[index]),
            "estimate_low": low,
            "estimate_high": high,
            "p_best": float(found.p_best[index]),
            "tied": bool(found.tied[index]),
            "status": _status(runs),
            "fresh": _fresh(configuration, fresh),
        }
    )


def _baselines(state: State, selection: Selection) -> list[dict]:
    """Rows of the baselines, the best of each kind first; they have no estimate and no rank among configurations."""
    best, fresh = best_of_each(state, selection), scores_of(state, selection, CONFIRM)
    rows = []
    for config_id, scores in scores_of(state, selection, SEARCH).items():
        one = state.configurations[config_id]
        runs = [one.runs[replicate] for replicate in scores]
        marks = {
            "baseline": title(state.method, one.params),
            "status": _status(runs),
            "fresh": _fresh(one, fresh.get(config_id)),
        }
        rows.append(_unranked(one) | _summarised(runs, list(scores.values())) | marks)
    return sorted(rows, key=lambda row: row["config_id"] not in best)


def _summarised(runs: list[Run], scores: Sequence[float | None], *, intervals: bool = False) -> dict:
    """Runs of one configuration in numbers: of the score that ranks, of every metric, and how many failed."""
    reported = [score for score in scores if score is not None]
    of_score = asdict(summary(reported)) if reported else {}
    return {
        "replicates": len(runs),
        **{name: of_score.get(name) for name in SCORE},
        "failed": sum(run.failed for run in runs),
        "collapsed": dict(Counter(place for run in runs for place in single_class(run.metrics))),
        "scores": per_language([run.metrics for run in runs], intervals=intervals),
    }


def single_class(metrics: dict[str, float]) -> list[str]:
    """Where a run predicts a single class, as `split/language`."""
    found = (name for name, value in metrics.items() if value == 1 and "/predicted_classes/" in name)
    return [name.replace("predicted_classes/", "") for name in found]


def _status(runs: list[Run]) -> str:
    return ", ".join(sorted({run.status for run in runs if run.failed})) or "done"


def _fresh(configuration: Configuration, scores: dict[int, float | None] | None) -> dict | None:
    """The confirmation's part of a row: the score on fresh replicates, all metrics there, the test sets' among them."""
    if not scores:
        return None
    replicates = sorted(scores)
    runs = [configuration.runs[replicate] for replicate in replicates]
    return _summarised(runs, [scores[replicate] for replicate in replicates], intervals=True)


def _pruned(configuration: Configuration) -> dict:
    return _unranked(configuration) | {"status": "pruned"}


def _unranked(configuration: Configuration) -> dict:
    """A row with all its keys, and no score or rank yet."""
    nothing = dict.fromkeys((*SCORE, "estimate", "estimate_low", "estimate_high"))
    return {
        "config_id": configuration.config_id,
        "params": configuration.params,
        "baseline": "",
        "replicates": 0,
        **nothing,
        "p_best": 0.0,
        "tied": False,
        "same_as": "",
        "status": "",
        "failed": 0,
        "collapsed": {},
        "scores": {},
        "seconds": sum(run.seconds for run in configuration.of_phase(SEARCH)),
        "fresh": None,
    }


def mark_front(rows: list[dict], by: str, goal: str) -> None:
    """Set `second` and `front`: whether no other configuration is at least as good in both, and better in one."""
    sign = 1 if goal == "max" else -1
    for row in rows:
        row["second"] = _second(row, by)
    points = [(row["estimate"], None if row["second"] is None else sign * row["second"]) for row in rows]
    for row, (score, other) in zip(rows, points, strict=True):
        row["front"] = other is not None and not any(
            theirs is not None and better >= score and theirs >= other and (better, theirs) != (score, other)
            for better, theirs in points
        )


def _second(row: dict, by: str) -> float | None:
    if by == "seconds":
        return row["seconds"] / row["replicates"]
    if by == "spread":
        return row["sd"]
    return mean_of(row, by)


def chosen(state: State, rows: Sequence[dict]) -> dict:
    """The row of the configuration that a search stands for: the one frozen first or, before that, the best so far."""
    config_id = state.frozen[0] if state.frozen else rows[0]["config_id"]
    return next(row for row in rows if row["config_id"] == config_id)


def best_baselines(rows: Sequence[dict]) -> list[dict]:
    """The first row of each baseline, which is its best."""
    found: dict[str, dict] = {}
    for row in rows:
        if row["baseline"]:
            found.setdefault(row["baseline"], row)
    return list(found.values())


def underspecification(state: State, estimator: Estimator) -> dict | None:
    """What choosing without target labels costs, on target dev: nothing here ever ranks.

    `rank_correlation` is Spearman's, between the estimates of the selection score and of the target score over
    configurations; `gap` is how much higher the target estimate of the configuration with the highest one is. Both are
    estimates, drawn towards the common mean: the highest raw target mean would be the luckiest. None without targets,
    with fewer than three configurations that have both scores, where no label selects, or the oracle itself does.
    """
    both = selection_and_target(state, estimator)
    selected = state.frozen[0] if state.frozen else next(iter(both), None)
    if len(both) < 3 or selected not in both:
        return None
    estimates, targets = zip(*both.values(), strict=True)
    constant = len(set(estimates)) == 1 or len(set(targets)) == 1
    oracle = max(both, key=lambda key: both[key][1])
    return {
        "configurations": len(both),
        "rank_correlation": None if constant else rank_correlation(estimates, targets),
        "selected": {"config_id": selected, "target_score": both[selected][1]},
        "oracle": {"config_id": oracle, "target_score": both[oracle][1]},
        "gap": both[oracle][1] - both[selected][1],
    }


def selection_and_target(state: State, estimator: Estimator) -> dict[str, tuple[float, float]]:
    """Estimates of the selection score and of the target score, best selection first: configuration id -> both.

    Only configurations that have both; none at all where the two are the same or cannot be compared.
    """
    selection = estimator.selection
    found = estimator.estimate(state)
    if found is None or selection.oracle or not selection.targets or selection.on in ("metric", "unlabelled"):
        return {}
    target = Estimator(replace(selection, on="target_dev", second=None)).estimate(state)
    seen = [{one.ids[i] for i in range(len(one.ids)) if one.failed[i] < one.count[i]} for one in (found, target)]
    shared = [key for key in (found.ids[index] for index in found.ranking) if key in seen[0] & seen[1]]
    return {key: (float(found.mean[found.index_of[key]]), float(target.mean[target.index_of[key]])) for key in shared}


def in_words(price: dict | None) -> str:
    """The price of under-specification in a sentence; empty where it cannot be told."""
    if price is None:
        return ""
    correlation = price["rank_correlation"]
    told = "they do not vary" if correlation is None else f"rank correlation {correlation:.2f}"
    return (
        f"price of under-specification on target dev: {told} between selection and target scores over "
        f"{price['configurations']} configurations; selected {number(price['selected']['target_score'])}, "
        f"oracle {number(price['oracle']['target_score'])} ({price['oracle']['config_id']}), gap {number(price['gap'])}"
    )


def per_language(metrics: list[dict[str, float]], *, intervals: bool = False) -> dict[str, dict[str, dict]]:
    """`{"dev/macro_f1": {"bel": {mean, sd, n}}}` from the flat metrics of several runs, maybe with intervals."""
    table: dict[str, dict[str, dict]] = {}
    for name in sorted({name for of_run in metrics for name in of_run}):
        values = summary([of_run[name] for of_run in metrics if name in of_run])
        metric, _, language = name.rpartition("/")
        shown = {"mean": values.mean, "sd": values.sd, "n": values.n}
        interval = {"ci_low": values.ci_low, "ci_high": values.ci_high} if intervals else {}
        table.setdefault(metric or name, {})[language] = shown | interval
    return table


def write(rows: list[dict], folder: Path) -> None:
    """leaderboard.json, and leaderboard.csv with one column per parameter and per score."""
    write_atomically(folder / "leaderboard.json", json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    columns, lines = flat(rows)
    with writing(folder / "leaderboard.csv") as file:
        table = csv.writer(file)
        table.writerow(columns)
        table.writerows(lines)


def flat(rows: list[dict]) -> tuple[list[str], list[list]]:
    """The names of the columns of leaderboard.csv, and its lines, whose numbers are numbers; None where a row has none.

    `params.NAME` is a parameter, `dev/macro_f1/LANGUAGE` a mean over replicates, `fresh.NAME` one over fresh ones.
    """
    plain = [name for name in rows[0] if name not in ("params", "scores", "fresh", "collapsed")] if rows else []
    fresh = ["replicates", "failed", *SCORE]
    parameters = list(dict.fromkeys(name for row in rows for name in row["params"]))
    scores = list(dict.fromkeys(pair for row in rows for pair in _pairs(row["scores"])))
    tests = list(dict.fromkeys(pair for row in rows if row["fresh"] for pair in _pairs(row["fresh"]["scores"])))
    columns = [*plain, "collapsed", *(f"fresh.{name}" for name in fresh), *(f"params.{name}" for name in parameters)]
    columns += ["/".join(pair) for pair in scores] + ["fresh." + "/".join(pair) for pair in tests]
    lines = []
    for row in rows:
        confirmed = row["fresh"] or {"scores": {}}
        lines.append(
            [*(row.get(name) for name in plain), " ".join(f"{name}:{n}" for name, n in row["collapsed"].items())]
            + [confirmed.get(name) for name in fresh]
            + [row["params"].get(name) for name in parameters]
            + [row["scores"].get(metric, {}).get(language, {}).get("mean") for metric, language in scores]
            + [confirmed["scores"].get(metric, {}).get(language, {}).get("mean") for metric, language in tests]
        )
    return columns, lines


def _pairs(scores: dict[str, dict]) -> list[tuple[str, str]]:
    return [(metric, language) for metric, of in scores.items() for language in of]


def mean_of(row: dict, name: str) -> float | None:
    metric, _, language = name.rpartition("/")
    return row["scores"].get(metric or name, {}).get(language, {}).get("mean")
