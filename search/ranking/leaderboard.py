"""The leaderboard as data: one row per configuration, best first."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from seedwise.search.ledger.state import CONFIRM, DONE, PRUNED, SEARCH, Configuration, Run, State
from seedwise.search.ranking import by_language
from seedwise.search.ranking.baseline_scores import best_of_each, title
from seedwise.search.ranking.by_language import Pools, per_language
from seedwise.search.ranking.duplicates import duplicates
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.ranks import rank_correlation
from seedwise.search.ranking.run_scores import Row, known, scores_of
from seedwise.search.ranking.selection import Selection
from seedwise.search.ranking.summary import summary, within
from seedwise.text import number

SCORE = ("mean", "sd", "ci_low", "ci_high")


def leaderboard(state: State, estimator: Estimator, most: int | None = None) -> list[dict]:
    """The rows of `leaderboard.json`, best estimate first; configurations without a finished run are left out.

    `most` limits the rows, for a live view, and leaves out baselines. `mean`, `sd` and the interval describe the
    configuration's own replicates; `estimate` is the posterior mean that ranks. Pruned configurations come last and
    have no rank: their runs were shorter. `fresh` summarises the confirmation. If `replicated` is false, no
    configuration has two scores: `p_best` and `tied` then rest on a guess of the noise, and no view shows them.
    """
    estimate = estimator.estimate(state)
    if estimate is None:
        return []
    selection = estimator.selection
    scores, fresh = scores_of(state, selection), scores_of(state, selection, CONFIRM)
    table, rows = _Rows.of(state, selection), []
    for index in estimate.ranking if selection.second else estimate.ranking[:most]:  # the Pareto front needs all rows
        config_id, (low, high) = estimate.ids[index], within(selection.bounds, *estimate.interval(index))
        row = table.row(state.configurations[config_id], dict(sorted(scores[config_id].items())), fresh.get(config_id))
        mean = float(min(high, max(low, estimate.mean[index])))  # shrinkage may carry it beyond the bounds
        row |= {"estimate": mean, "estimate_low": low, "estimate_high": high}
        rows.append(row | {"p_best": float(estimate.p_best[index]), "tied": bool(estimate.tied[index])})
    original = duplicates(state, [row["config_id"] for row in rows])
    for row in rows:
        row["same_as"] = original.get(row["config_id"], "")
    if selection.second:
        mark_front(rows, *selection.second)
    pruned = [configuration for configuration in state.configurations.values() if configuration.pruned]
    rows += [table.row(configuration, {}) | {"status": PRUNED} for configuration in pruned]
    rows += _baselines(state, table, scores, fresh) if most is None else []
    return [{"selected_by": selection.label, "replicated": estimate.replicated, **row} for row in rows][:most]


def _baselines(state: State, table: "_Rows", scores: dict[str, Row], fresh: dict[str, Row]) -> list[dict]:
    """Rows of the baselines, the best of each kind first. They have no estimate and no rank."""
    best, rows = best_of_each(state, table.selection), []
    for config_id in scores:
        configuration = state.configurations[config_id]
        if configuration.baseline:
            row = table.row(configuration, scores[config_id], fresh.get(config_id))
            rows.append(row | {"baseline": title(state.method, configuration.params)})
    return sorted(rows, key=lambda row: row["config_id"] not in best)


@dataclass(frozen=True)
class _Rows:
    """Builds rows of a leaderboard. Pools of seeds: of scores in either phase, of metrics on fresh seeds."""

    selection: Selection
    of_search: Pools
    of_fresh: Pools

    @classmethod
    def of(cls, state: State, selection: Selection) -> "_Rows":
        of_search = Pools.of(state, selection, SEARCH, score_alone=True)
        return cls(selection, of_search, Pools.of(state, selection, CONFIRM))

    def row(self, configuration: Configuration, scores: Row, fresh: Row | None = None) -> dict:
        """A row with all its keys, not ranked yet. `scores` and `fresh` (of the confirmation) are by replicate."""
        runs = [configuration.runs[replicate] for replicate in scores]
        summarised = self._summarised(configuration, scores)
        of_fresh = fresh and self._summarised(configuration, dict(sorted(fresh.items())), fresh=True)
        return {
            "config_id": configuration.config_id,
            "params": configuration.params,
            "baseline": "",
            **{name: summarised.pop(name) for name in ("replicates", *SCORE)},
            **dict.fromkeys(("estimate", "estimate_low", "estimate_high")),
            "p_best": 0.0,
            "tied": False,
            "same_as": "",
            "status": ", ".join(sorted({run.status for run in runs if run.failed})) or DONE,
            **summarised,
            "seconds": sum(run.seconds for run in configuration.of_phase(SEARCH)),
            "fresh": of_fresh or None,
        }

    def _summarised(self, configuration: Configuration, scores: Row, *, fresh: bool = False) -> dict:
        """Summarise runs of one configuration: the score that ranks, every metric, and the number that failed."""
        runs, pools = (
            [configuration.runs[replicate] for replicate in scores],
            self.of_fresh if fresh else self.of_search,
        )
        measured = [run for run in runs if not run.failed]  # if none is, what failures count as is no measurement
        values, others = known(scores) if measured else [], pools.others(by_language.SCORE, configuration.config_id)
        of_score = asdict(summary(values, others, self.selection.bounds)) if values else {}
        return {
            "replicates": len(runs),
            **{name: of_score.get(name) for name in SCORE},
            "failed": sum(run.failed for run in runs),
            "collapsed": dict(Counter(name for run in runs for name in single_class(run))),
            "scores": per_language(runs, self.selection, pools if fresh else None),
        }


def single_class(run: Run) -> list[str]:
    """The sets on which a run predicts a single class, as `split/language`; `run` if a user's method names no set."""
    collapsed = (name for name, value in run.metrics.items() if value == 1 and "/predicted_classes/" in name)
    return [name.replace("predicted_classes/", "") for name in collapsed] or ["run"] * run.collapsed


def collapsed(row: dict) -> bool:
    """Whether a run of this row, of the search or on fresh seeds, predicts a single class."""
    return bool(row["collapsed"] or (row["fresh"] or {}).get("collapsed"))


def mark_front(rows: list[dict], by: str, goal: str) -> None:
    """Set `second`, the second objective, and `front`: whether no other row is as good in both and better in one."""
    sign = 1 if goal == "max" else -1
    for row in rows:
        if by == "seconds":
            row["second"] = row["seconds"] / row["replicates"]
        else:
            row["second"] = row["sd"] if by == "spread" else mean_of(row, by)
    points = {(row["estimate"], sign * row["second"]) for row in rows if row["second"] is not None}
    for row in rows:
        own = row["second"] is not None and (row["estimate"], sign * row["second"])
        row["front"] = bool(own) and not any(
            point != own and point[0] >= own[0] and point[1] >= own[1] for point in points
        )


def chosen(state: State, rows: Sequence[dict]) -> dict:
    """The row of the chosen configuration: the first frozen configuration or, before the freeze, the best so far."""
    config_id = state.frozen[0] if state.frozen else rows[0]["config_id"]
    return next(row for row in rows if row["config_id"] == config_id)


def best_baselines(rows: Sequence[dict]) -> list[dict]:
    """The first row of each baseline, which is its best configuration."""
    best: dict[str, dict] = {}
    for row in rows:
        if row["baseline"]:
            best.setdefault(row["baseline"], row)
    return list(best.values())


def underspecification(state: State, estimator: Estimator) -> dict | None:
    """How much target dev score is lost by choosing without target labels. Nothing here ever ranks.

    `rank_correlation` is Spearman's, over configurations, between the estimates of selection score and target score.
    `gap` is the highest target estimate minus that of the selected configuration. The gap uses estimates, shrunk
    towards the common mean, since the highest raw target mean would be the luckiest. None without targets, with fewer
    than three configurations that have both scores, if selection uses no labels, or for an oracle.
    """
    both = selection_and_target(state, estimator)
    selected = state.frozen[0] if state.frozen else next(iter(both), None)
    if len(both) < 3 or selected not in both:
        return None
    estimates, targets = zip(*both.values(), strict=True)
    constant = len(set(estimates)) == 1 or len(set(targets)) == 1
    oracle = max(both, key=lambda config_id: both[config_id][1])
    return {
        "configurations": len(both),
        "rank_correlation": None if constant else rank_correlation(estimates, targets),
        "selected": {"config_id": selected, "target_score": both[selected][1]},
        "oracle": {"config_id": oracle, "target_score": both[oracle][1]},
        "gap": both[oracle][1] - both[selected][1],
    }


def selection_and_target(state: State, estimator: Estimator) -> dict[str, tuple[float, float]]:
    """Estimates by configuration id: (selection score, target score), the best selection score first.

    Configurations without one of the two are left out. Empty if the two scores are the same or cannot be compared.
    """
    selection = estimator.selection
    source = estimator.estimate(state)
    if source is None or selection.oracle or not selection.targets or selection.on in ("metric", "unlabelled"):
        return {}
    target = Estimator(replace(selection, on="target_dev", second=None)).estimate(state)
    both = {}
    for index in source.ranking:
        there = target.index_of[source.ids[index]]
        if source.failed[index] < source.count[index] and target.failed[there] < target.count[there]:
            both[source.ids[index]] = float(source.mean[index]), float(target.mean[there])
    return both


def in_words(price: dict | None) -> str:
    """The price of under-specification in a sentence; empty if it is unknown."""
    if price is None:
        return ""
    correlation = price["rank_correlation"]
    if correlation is None:
        agreement = "no rank correlation, as selection or target scores are all equal,"
    else:
        agreement = f"rank correlation {correlation:.2f} between selection and target scores"
    return (
        f"price of under-specification on target dev: {agreement} over {price['configurations']} configurations; "
        f"selected {number(price['selected']['target_score'])}, oracle {number(price['oracle']['target_score'])} "
        f"({price['oracle']['config_id']}), gap {number(price['gap'])}"
    )


def flat(rows: list[dict]) -> tuple[list[str], list[list]]:
    """The column names of leaderboard.csv, and its lines. Numbers stay numbers; a missing value is None.

    `params.NAME` is a parameter, `dev/macro_f1/LANGUAGE` a mean over replicates, with `_sd` and `_n` beside it.
    `fresh.NAME` is the value over fresh replicates.
    """
    lines = []
    for row in rows:
        fresh = row["fresh"] or {}
        plain = {name: value for name, value in row.items() if name not in ("params", "scores", "fresh", "collapsed")}
        lines.append(
            (
                plain | {"collapsed": _counted(row["collapsed"])},
                {f"fresh.{name}": fresh.get(name) for name in ("replicates", "failed", *SCORE)}
                | {"fresh.collapsed": _counted(fresh["collapsed"]) if fresh else None},
                {f"params.{name}": value for name, value in row["params"].items()},
                by_language.flat(row["scores"]),
                {f"fresh.{name}": value for name, value in by_language.flat(fresh.get("scores", {})).items()},
            )
        )
    columns = [(part, name) for part in range(5) for name in dict.fromkeys(n for line in lines for n in line[part])]
    return [name for _, name in columns], [[line[part].get(name) for part, name in columns] for line in lines]


def _counted(collapsed: dict[str, int]) -> str:
    return " ".join(f"{name}:{n}" for name, n in collapsed.items())


def mean_of(row: dict, name: str) -> float | None:
    return by_language.cell_of(row["scores"], name).get("mean")
