"""Charts as plain data: their numbers against the ledger, by hand or by brute force."""

import functools
import io
import json
import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plotly.offline import get_plotlyjs
from rich.console import Console

from seedwise.search.drawing.chart import Chart, beyond, focus, script_safe
from seedwise.search.ledger.state import Configuration, Run, State, replay
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.leaderboard import selection_and_target
from seedwise.search.ranking.results import MAX_CHARTED, Results
from seedwise.search.ranking.selection import Selection
from seedwise.search.report import charts, components, costs, failures, importance, terminal
from seedwise.search.report.answer import answer
from seedwise.search.report.html_report import page
from seedwise.search.report.languages import languages
from seedwise.spaces import load
from seedwise.text import duration
from tests.ledgers import FAILS, SPECIFICATION, Uniform, events, findings, made, truth
from tests.search.hand_written import HandWritten, metrics, specification
from tests.search.ranking import test_leaderboard


@pytest.fixture(scope="module")
def results():
    return made()


def trace(chart, name):
    return next(series for series in chart.data if series["name"] == name)


def ended(lines=None, **wanted):
    """Lines of finished runs, straight from the ledger."""
    lines = [line for line in lines or list(events()) if line["event"] == "result"]
    return [line for line in lines if all(line[key] == value for key, value in wanted.items())]


def test_every_replicate_is_a_point_in_the_row_of_its_configuration(results):
    chart = charts.replicates(results)
    names = chart.layout["yaxis"]["ticktext"]
    assert names[0] == f"1. {results.ranked[0]['config_id']}"
    assert names[-1] == "LS"
    rows = {name.split(". ")[-1].replace("LS", "baseline"): row for row, name in enumerate(names)}
    for name, phase in (("search seeds", "search"), ("fresh seeds", "confirm")):
        shown = trace(chart, name)
        expected = [
            (line["metrics"]["dev/macro_f1/s"], rows[line["config_id"]]) for line in ended(phase=phase, status="done")
        ]
        assert sorted((x, int(y)) for x, y in zip(shown["x"], shown["y"], strict=True)) == sorted(expected)
    assert len(trace(chart, "failed")["x"]) == len(ended(status="failed:nan"))
    estimates = trace(chart, "estimate, 95 % interval")
    best = results.ranked[0]
    assert estimates["x"][0] == best["estimate"]
    assert estimates["x"][0] + estimates["error_x"]["array"][0] == pytest.approx(best["estimate_high"])
    assert estimates["x"][0] - estimates["error_x"]["arrayminus"][0] == pytest.approx(best["estimate_low"])
    confirmed = ended(config_id="baseline", phase="confirm")
    mean = np.mean([line["metrics"]["dev/macro_f1/s"] for line in confirmed])
    assert trace(chart, "mean of fresh seeds, 95 % interval")["x"][-1] == pytest.approx(mean)


def test_of_many_configurations_only_the_best_are_shown_and_the_caption_says_so(results):
    many = made(configurations=MAX_CHARTED + 5)
    chart = charts.replicates(many)
    assert len(chart.layout["yaxis"]["ticktext"]) == MAX_CHARTED + 1
    assert f"The {MAX_CHARTED} best of {MAX_CHARTED + 5} configurations are shown." in chart.caption
    assert "best of" not in charts.replicates(results).caption


def test_the_course_has_the_runs_in_the_order_of_the_ledger(results):
    chart = charts.course(results)
    own = [line for line in ended() if line["config_id"] != "baseline" and line["status"] != "pruned"]
    order = {(line["config_id"], line["replicate"]): position for position, line in enumerate(ended(), start=1)}
    done = [line for line in own if line["phase"] == "search" and line["status"] == "done"]
    shown = trace(chart, "search seeds")
    assert shown["x"] == [order[line["config_id"], line["replicate"]] for line in done]
    assert shown["y"] == [line["metrics"]["dev/macro_f1/s"] for line in done]
    estimates = {row["config_id"]: row["estimate"] for row in results.ranked}
    line = trace(chart, "best so far")
    assert len(line["x"]) == len(own)
    for position in range(len(own)):
        good = [estimates[run["config_id"]] for run in own[: position + 1] if run["status"] == "done"]
        assert line["y"][position] == (max(good) if good else None)


@given(st.lists(st.none() | st.floats(-1, 1)))
def test_best_so_far_is_the_highest_up_to_there(values):
    for index, best in enumerate(charts.best_so_far(values)):
        known = [value for value in values[: index + 1] if value is not None]
        assert best == (max(known) if known else None)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_an_axis_shows_the_highest_value_and_at_least_three_quarters_of_all(values):
    low, high = focus(values)
    assert low < high
    assert max(values) < high
    assert sum(low <= value for value in values) >= 0.75 * len(values)


def test_target_scores_stand_against_selection_scores_with_the_gap():
    """`good` is selected on the source, `same` is better on the target."""
    results = Results(replay(test_leaderboard.events()), test_leaderboard.ESTIMATOR)
    price = results.underspecification
    chart = charts.target(results)
    both = selection_and_target(results.state, results.estimator)
    shown = [
        pair
        for series in chart.data
        if series["mode"] == "markers"
        for pair in zip(series["x"], series["y"], strict=True)
    ]
    assert sorted(shown) == sorted(both.values())
    target = {name: np.mean([pair[1] for pair in pairs]) for name, pairs in test_leaderboard.SCORES.items()}
    assert trace(chart, "chosen")["y"] == [pytest.approx(target["good"], abs=0.01)]
    assert trace(chart, "oracle")["y"] == [pytest.approx(target["same"], abs=0.01)]
    low, high = trace(chart, f"gap {price['gap']:.3f}")["y"]
    assert high - low == pytest.approx(target["same"] - target["good"], abs=0.01)
    assert f"a gap of {price['gap']:.3f}" in chart.text
    few = {name: test_leaderboard.SCORES[name] for name in ("good", "same")}
    assert "Fewer than three" in charts.target(
        Results(replay(test_leaderboard.events(few)), test_leaderboard.ESTIMATOR)
    )


def test_an_oracle_has_no_gap_and_every_chart_says_what_it_is(results):
    oracle = Results(results.state, Estimator(replace(results.selection, on="target_dev")))
    assert "oracle itself" in charts.target(oracle)
    assert "oracle" in charts.replicates(oracle).layout["xaxis"]["title"]["text"]
    assert "oracle" in charts.course(oracle).layout["yaxis"]["title"]["text"]
    assert "oracle" in answer(oracle, "x")[0]


@pytest.mark.parametrize("split", ["dev", "test"])
def test_the_heat_map_has_the_means_by_language(results, split):
    chart = languages(results, split)
    assert chart.layout["xaxis"]["ticktext"] == ["s", "a", "b", "mean_targets", "mean_all"]  # the source first
    (heat,) = chart.data
    rows = [row for row in results.charted if split == "dev" or row["fresh"]]
    rows = [row for row in rows if row["failed"] < row["replicates"]]
    assert len(heat["z"]) == len(rows)
    phase = "search" if split == "dev" else "confirm"
    for row, values in zip(rows, heat["z"], strict=True):
        runs = ended(config_id=row["config_id"], phase=phase, status="done")
        for languages_of, value in zip(("s", "a", "b", "ab", "sab"), values, strict=True):
            scores = [[line["metrics"][f"{split}/macro_f1/{language}"] for language in languages_of] for line in runs]
            assert value == pytest.approx(np.mean(scores))


def test_a_planted_parameter_is_the_most_important_though_its_optimum_is_in_the_middle():
    results = made(configurations=60)
    first, *rest = importance.importances(results)
    assert first.name == "lr"
    assert first.share > 0.9
    assert first.clear
    assert all(parameter.share < 0.3 for parameter in rest)
    assert importance.importances(made(configurations=60)) == [first, *rest]
    conditional = next(parameter for parameter in rest if parameter.name == "tau")
    assert conditional.n == sum("tau" in row["params"] and not row["failed"] for row in results.ranked)


def test_importance_is_the_adjusted_r_squared():
    values = ["a"] * 5 + ["b"] * 5
    scores = [0.0, 0.1, 0.2, 0.1, 0.1, 0.5, 0.6, 0.4, 0.5, 0.5]
    within = sum((score - mean) ** 2 for half, mean in ((scores[:5], 0.1), (scores[5:], 0.5)) for score in half)
    total = sum((score - 0.3) ** 2 for score in scores)
    of_x = importance.importance("x", values, scores)
    assert of_x.share == pytest.approx(1 - (within / 8) / (total / 9))
    line = importance.importance("x", list(range(10)), [2.0 * value for value in range(10)])
    assert line.share == pytest.approx(1)
    assert line.p < 1e-6
    assert importance.importance("x", values[2:8], scores[2:8]) is None  # too few configurations
    assert importance.importance("x", ["a"] * 10, scores) is None  # one value
    assert importance.importance("x", list("abcdefghij"), scores) is None  # as many values as configurations
    assert importance.importance("x", values, [0.5] * 10).share == 0


@given(st.lists(st.tuples(st.integers(0, 3) | st.floats(0, 1), st.floats(-1, 1)), min_size=8, max_size=30))
def test_a_share_is_a_share_whatever_the_values(pairs):
    of_x = importance.importance("x", [value for value, _ in pairs], [score for _, score in pairs])
    assert of_x is None or (0 <= of_x.share <= 1 + 1e-9 and 0 <= of_x.p <= 1)


def test_importance_by_chance_is_rarely_called_clear():
    draw = np.random.default_rng(0)
    ones = [importance.importance("x", draw.random(20).tolist(), draw.random(20).tolist()) for _ in range(400)]
    assert np.mean([of_x.clear for of_x in ones]) < 0.09
    assert np.mean([of_x.share for of_x in ones]) < 0.1


@functools.cache
def stitching_space():
    return load("stitching", {})


def searched_once(draw, effect=0.0, configurations=20):
    """A stitching search with a surrogate and one to three replicates; only the learning rate may matter."""
    space, generator = stitching_space(), random.Random(int(draw.integers(2**32)))
    state = State(search={"specification": {**SPECIFICATION, "space": {}}})
    seeds = draw.normal(0, 0.02, 3)
    for ask in range(configurations):
        params = space(Uniform(generator))
        configuration = state.configurations[str(ask)] = Configuration(str(ask), params, ask)
        score = 0.5 + effect * np.log(params["lr"]) + draw.normal(0, 0.01)
        for replicate in range(1 + ask % 3):
            metrics = {"dev/macro_f1/s": float(score + seeds[replicate] + draw.normal(0, 0.02))}
            configuration.runs[replicate] = Run(str(ask), replicate, "search", "done", metrics)
    return Results(state, Estimator(Selection.from_specification(state.search["specification"]), space), lambda: space)


def test_where_no_parameter_matters_few_searches_have_a_clear_one_though_a_surrogate_draws_estimates_together():
    draw = np.random.default_rng(0)
    known = [importance.importances(searched_once(draw)) for _ in range(40)]
    assert min(map(len, known)) >= 5
    with_a_clear_parameter = sum(any(parameter.clear for parameter in parameters) for parameters in known)
    assert with_a_clear_parameter <= 6  # of 40 at 5 %: chance has more in 0.3 % of cases


def test_a_parameter_that_matters_is_clear_beside_a_surrogate():
    draw = np.random.default_rng(1)
    for _ in range(5):
        first = importance.importances(searched_once(draw, effect=0.05))[0]
        assert first.name == "lr"
        assert first.clear


def test_p_values_are_corrected_for_their_number():
    assert importance.holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert importance.holm([0.9, 0.8]) == [1.0, 1.0]
    assert importance.holm([]) == []


def test_a_slice_has_the_estimates_on_the_scale_that_was_searched(results):
    slices = {chart.layout["xaxis"]["title"]["text"]: chart for chart in importance.slices(results)}
    assert slices["lr"].layout["xaxis"]["type"] == "log"
    assert "epochs" not in slices  # fixed by the specification
    whole = {row["params"]["lr"]: row["estimate"] for row in results.ranked if not row["failed"]}
    shown = {x: y for series in slices["lr"].data for x, y in zip(series["x"], series["y"], strict=True)}
    assert shown == whole
    assert FAILS not in slices["weighting"].layout["xaxis"]["ticktext"]  # all of its runs failed
    kinds = slices["weighting"].layout["xaxis"]["ticktext"]
    by_kind = {kind: set() for kind in kinds}
    for series in slices["weighting"].data:
        for x, y in zip(series["x"], series["y"], strict=True):
            by_kind[kinds[round(x)]].add(y)
    for kind, values in by_kind.items():
        assert values == {row["estimate"] for row in results.ranked if row["params"].get("weighting") == kind}


def test_few_configurations_have_no_importance_and_the_caption_says_why():
    assert "At least 8 configurations" in importance.chart(made(configurations=5))


def test_components_are_those_that_were_planted():
    """Seeds move all scores by 0.02 and every run by 0.01; only many replicates show it."""
    results = made(configurations=60, replicates=30)
    score, *rest = components.components(results)
    assert score.seeds == pytest.approx(0.02, rel=0.35)
    assert score.rest == pytest.approx(0.01, rel=0.25)
    good = [truth(row["params"]) for row in results.ranked if not row["failed"]]
    assert score.configurations == pytest.approx(np.std(good, ddof=1), rel=0.1)
    assert [component.name for component in rest] == ["a", "b"]
    chart = components.chart(results)
    assert [series["y"][0] for series in chart.data] == [score.configurations, score.seeds, score.rest]


def planted(configurations, between, seeds, rest, draw):
    """A search with two replicates each, and these standard deviations in it."""
    state = State(search={"specification": SPECIFICATION})
    effects = draw.normal(0, seeds, 2)
    for ask in range(configurations):
        configuration = state.configurations[str(ask)] = Configuration(str(ask), {"k": ask}, ask)
        score = draw.normal(0.5, between)
        for replicate in range(2):
            metrics = {"dev/macro_f1/s": float(score + effects[replicate] + draw.normal(0, rest))}
            configuration.runs[replicate] = Run(str(ask), replicate, "search", "done", metrics)
    return findings(state)


@pytest.mark.parametrize(("between", "rest"), [(0.03, 0.03), (0.02, 0.04), (0.05, 0.01)])
def test_with_two_replicates_the_spread_of_configurations_is_the_planted_one(between, rest):
    """Neither too small, as from shrunken estimates, nor too large, as from means that include the noise."""
    draw = np.random.default_rng(0)
    known = [components.components(planted(80, between, 0.02, rest, draw))[0] for _ in range(20)]
    assert np.mean([spread.configurations for spread in known]) == pytest.approx(between, rel=0.08)
    assert np.mean([spread.rest for spread in known]) == pytest.approx(rest, rel=0.08)


def test_a_language_is_not_called_the_selection_score():
    """No run reports the source, so that score has no row."""
    lines = list(events())
    for line in lines:
        if line["event"] == "result":
            line["metrics"] = {name: value for name, value in line["metrics"].items() if not name.endswith("/s")}
    chart = components.chart(findings(replay(lines)))
    assert chart.layout["xaxis"]["ticktext"] == ["a", "b"]
    assert components.chart(made()).layout["xaxis"]["ticktext"] == ["selection score", "a", "b"]


def test_without_replicates_only_the_spread_of_configurations_is_known():
    chart = components.chart(made(replicates=1))
    assert [series["name"] for series in chart.data] == ["configurations"]
    assert "seeds and the rest are unknown" in chart.caption


def test_cost_adds_up():
    results = made()
    cost = costs.cost(results.state)
    lines = ended()
    assert cost.runs == len(lines)
    assert cost.seconds == pytest.approx(sum(line["seconds"] for line in lines))
    assert cost.parts["baselines"] == (3, pytest.approx(10 + 11 + 12))
    assert cost.parts["confirm"] == (12, pytest.approx(3 * (10 + 11 + 12 + 13)))
    assert cost.cpu == pytest.approx(2 * cost.seconds)
    assert cost.gpu == pytest.approx(cost.seconds / 2)
    assert cost.wall == max(line["time"] for line in lines)
    failed = ended(status="failed:nan")
    assert cost.lost == {"failed:nan": (len(failed), sum(line["seconds"] for line in failed)), "pruned": (1, 2.0)}
    words = costs.in_words(cost)
    assert f"{cost.runs} runs" in words
    assert f"{len(failed)} failed:nan, 1 pruned" in words
    chart = costs.chart(results)
    drawn = {row["config_id"] for row in results.charted}
    assert sum(len(series["x"]) for series in chart.data) == sum(line["config_id"] in drawn for line in lines)
    results.state.search["specification"] |= {"resources": {"gpus_per_run": "auto", "cpus_per_run": 1}}
    assert costs.cost(results.state).gpu is None


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0.0 s"), (119, "119.0 s"), (120, "2.0 min"), (7199, "120.0 min"), (9000, "2.5 h")]
)
def test_a_duration_has_its_unit(seconds, words):
    assert duration(seconds) == words


def test_failed_pruned_and_collapsed_runs_are_listed_with_what_they_have_in_common():
    lines = list(events())
    done = next(line for line in lines if line["event"] == "result" and line["status"] == "done")
    done["metrics"]["dev/predicted_classes/b"] = 1.0
    results = findings(replay(lines))
    listed = failures.failures(results)
    kinds = [row["kind"] for row in listed]
    assert kinds.count("failed:nan") == len(ended(lines, status="failed:nan"))
    assert kinds.count("pruned") == kinds.count("one class: b") == 1
    assert {row["error"] for row in listed if row["kind"] == "failed:nan"} == {"the loss is nan at step 3"}
    assert re.fullmatch(rf"Of the runs with weighting = '{FAILS}', (\d+) of \1 failed; .*, 0 of \d+\.",
                        failures.in_common(results))  # fmt: skip


def test_failures_with_nothing_in_common_are_not_described():
    lines = list(events())
    for number, line in enumerate(line for line in lines if line["event"] == "result"):
        line["status"] = "failed:oom" if number % 3 == 0 else "done"
        line["metrics"] = {} if number % 3 == 0 else {"dev/macro_f1/s": 0.5}
    assert failures.in_common(findings(replay(lines))) == ""


def test_the_answer_compares_seed_by_seed(results):
    sentences = answer(results, "seedwise run runs/made/best.yaml")
    chosen = results.state.frozen[0]
    assert sentences[0].startswith(f"Chosen: {chosen} (")
    fresh = {line["replicate"]: line["metrics"] for line in ended(config_id=chosen, phase="confirm")}
    theirs = {line["replicate"]: line["metrics"] for line in ended(config_id="baseline", phase="confirm")}
    scores = [metrics["dev/macro_f1/s"] for metrics in fresh.values()]
    assert f"On 4 fresh seeds it scores {np.mean(scores):.3f}" in sentences[1]
    name = "dev/macro_f1/s"
    difference = np.mean([fresh[replicate][name] - theirs[replicate][name] for replicate in fresh])
    against = next(line for line in sentences if "baseline LS" in line)
    assert against.startswith("By macro_f1 on source_dev, on the same fresh seeds, with 95 % intervals: ")
    assert f"{chosen} is better than the baseline LS by {difference:.3f} [" in against
    assert against.endswith("(4 shared seeds, paired).")
    targets = ("test/macro_f1/a", "test/macro_f1/b")
    difference = np.mean([fresh[r][name] - theirs[r][name] for r in fresh for name in targets])
    against = next(line for line in sentences if line.startswith("By macro_f1 on target test, on the same fresh seeds"))
    assert f"is better than the baseline LS by {difference:.3f} [" in against
    assert sentences[-1] == "Run it again with: seedwise run runs/made/best.yaml"


def test_without_fresh_seeds_the_answer_warns_of_luck_and_without_replicates_of_more():
    lines = [line for line in events(replicates=1) if line.get("phase") != "confirm" and line["event"] != "freeze"]
    sentences = " ".join(answer(findings(replay(lines)), "x"))
    assert "the estimate is optimistic: the best of many was lucky too" in sentences
    assert "No configuration has two replicates" in sentences
    assert "tied" not in sentences
    assert "seeds of the search" in sentences  # where the baseline is compared


def failing(lines, config_id, *replicates):
    """The same lines, but that these runs failed."""
    for line in lines:
        if line["event"] == "result" and line["config_id"] == config_id and line["replicate"] in replicates:
            line |= {"status": "failed:nan", "metrics": {}}
    return lines


@pytest.mark.parametrize("side", ["chosen", "baseline"])
def test_a_failed_seed_is_in_the_difference_to_a_baseline_as_the_worst_score(side):
    lines = list(events())
    chosen = next(line for line in lines if line["event"] == "freeze")["configs"][0]
    results = findings(replay(failing(lines, chosen if side == "chosen" else "baseline", 1001)))
    sentences = answer(results, "x")
    own, theirs = (
        {line["replicate"]: line["metrics"] for line in ended(lines, config_id=key, phase="confirm")}
        for key in (chosen, "baseline")
    )
    name = "dev/macro_f1/s"
    differences = [own[n].get(name, 0.0) - theirs[n].get(name, 0.0) for n in own]
    against = next(line for line in sentences if "baseline LS" in line)
    assert f"{np.mean(differences):.3f}" in against
    assert against.endswith("(4 shared seeds, paired; 1 failed, counted as the worst score).")
    if side == "chosen":
        assert "On 4 fresh seeds, 1 of which failed (counted as the worst score), it scores" in sentences[1]


def test_test_scores_say_of_how_many_seeds_they_are():
    lines = list(events())
    chosen = next(line for line in lines if line["event"] == "freeze")["configs"][0]
    assert " on the same seeds: " in answer(findings(replay(lines)), "x")[2]
    results = findings(replay(failing(lines, chosen, 1001)))
    assert answer(results, "x")[2].startswith("Test macro_f1 on 3 of these 4 seeds, as the other runs failed: s ")
    assert f"{chosen} over 3 of 4 runs" in languages(results, "test").caption
    assert "left out" not in languages(made(), "test").caption
    assert f"test scores leave out failed runs: {chosen} over 3 of 4 runs" in page(results, Path("x"), ended="")


def everything_failed():
    lines = [line for line in events(configurations=3) if line["event"] in ("search", "ask", "start", "result")]
    for line in lines:
        line |= {"status": "failed:nan", "metrics": {}} if line["event"] == "result" else {}
    return findings(replay([line for line in lines if line.get("config_id") not in ("pruned", "baseline")]))


def test_where_everything_failed_no_number_is_invented():
    results = everything_failed()
    (sentences,) = answer(results, "x")
    assert sentences.endswith("runs failed, so there is nothing to choose from.")
    assert charts.replicates(results) == charts.course(results) == charts.NOTHING
    console = Console(file=io.StringIO(), width=120)
    terminal.show(results, Path("x"), console)
    body = page(results, Path("x"), ended="").replace(get_plotlyjs(), "").split("</style>")[1]
    for shown in (body, console.file.getvalue()):
        assert not re.search(r"(?<![=\d])\d\.\d{3}", shown)  # but after those of parameters


def test_where_all_fresh_runs_failed_there_is_no_score_of_them():
    lines = list(events(fresh=2))
    chosen = next(line for line in lines if line["event"] == "freeze")["configs"][0]
    results = findings(replay(failing(lines, chosen, 1000, 1001)))
    sentences = answer(results, "x")
    assert sentences[1].startswith("It failed on both fresh seeds, and has no score there. Its estimate from ")
    assert "fresh seeds it scores" not in " ".join(sentences)
    assert not any("baseline" in line for line in sentences)
    chart = charts.replicates(results)
    assert chart.text.endswith("on fresh seeds all failed.")
    fresh = trace(chart, "mean of fresh seeds, 95 % interval")
    assert len(fresh["x"]) == 2  # of the other configuration, and of the baseline


def test_a_baseline_that_only_failed_is_not_compared_with():
    results = findings(replay(failing(list(events()), "baseline", *range(3), *range(1000, 1004))))
    sentences = answer(results, "x")
    assert "The baseline LS failed on all its fresh seeds, so it cannot be compared." in sentences
    assert not any("than the baseline" in line for line in sentences)
    drawn = charts.replicates(results)
    assert "mean of a baseline, 95 % interval" not in [series["name"] for series in drawn.data]
    line = [row["config_id"] for row in results.charted].index("baseline")
    assert not any(line <= y < line + 0.5 for y in trace(drawn, "failed")["y"])


def test_one_seed_of_one_configuration_has_no_interval():
    lines = list(events())
    first = next(line for line in ended(lines) if line["status"] == "done")["config_id"]
    results = findings(replay([lines[0], *[line for line in lines if line.get("config_id") == first][:3]]))
    assert len(results.ranked) == 1
    sentences = answer(results, "x")
    assert re.search(r"Its estimate from 1 seed is 0\.\d{3}\. ", sentences[1])
    chart = charts.replicates(results)
    assert "95 %" not in chart.text
    assert trace(chart, "estimate")["error_x"]["array"] == [0.0]
    for width in (80, 120):
        console = Console(file=io.StringIO(), width=width)
        terminal.show(results, Path("x"), console)
        assert " .. " not in console.file.getvalue()
    assert "error_y" not in importance.slices(made(replicates=1))[0].data[0]
    assert "Bars are 95 % intervals" not in page(made(replicates=1), Path("x"), ended="")


def test_equal_scores_have_no_interval():
    row = {"mean": 0.5, "ci_low": 0.5, "ci_high": 0.5}
    assert charts.in_interval(row, "mean", "ci") == "0.500"
    assert charts.in_interval(row | {"ci_low": 0.4}, "mean", "ci") == "0.500 (95 % interval 0.400 to 0.500)"


def test_a_search_without_confirmation_has_chosen_when_it_has_stopped():
    """Results are written before the line that ends a ledger."""
    lines = [line for line in events() if line.get("phase") != "confirm" and line["event"] != "end"]
    assert answer(findings(replay([line for line in lines if line["event"] != "freeze"])), "x")[0].startswith("Best so")
    next(line for line in lines if line["event"] == "freeze")["configs"] = []
    assert answer(findings(replay(lines)), "x")[0].startswith("Chosen: ")


def test_points_beyond_the_chart_are_counted_over_both_axes():
    points = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), *[(1.0, 1.0)] * 9]
    assert "3 of 12 points" in beyond(points, [0.5, 2.0], [0.5, 2.0])
    assert "2 of 12 points" in beyond([point[:1] for point in points], [0.5, 2.0])
    assert beyond(points, [-1.0, 2.0], [-1.0, 2.0]) == ""


def test_the_target_chart_counts_the_points_that_it_does_not_show(monkeypatch):
    """Ten points are far lower on the target, two in the selection score: both kinds are counted."""
    both = {str(n): (0.8 + n / 1000, 0.6 + n / 1000) for n in range(60)}
    both |= {f"x{n}": (0.0, 0.61 + n / 1000) for n in range(2)} | {f"y{n}": (0.81 + n / 1000, 0.0) for n in range(10)}
    price = {"selected": {"config_id": "0", "target_score": 0.6}, "oracle": {"config_id": "1", "target_score": 0.601}}
    price |= {"rank_correlation": 0.5, "gap": 0.001}
    monkeypatch.setattr(Results, "underspecification", price)
    monkeypatch.setattr(charts, "selection_and_target", lambda *_: both)
    assert "12 of 72 points lie far below the visible range" in charts.target(made()).caption


ANYTHING = st.recursive(st.text() | st.floats(-1, 1) | st.none(), lambda inner: st.lists(inner, max_size=3))


@given(ANYTHING)
def test_no_text_can_close_a_script_element(data):
    text = script_safe(data)
    assert json.loads(text) == data
    assert not set("<>&\u2028\u2029") & set(text)
    assert text.isascii()


def test_charts_escape_names_and_texts_of_users():
    evil = '</script><img src=x onerror="alert(1)">'
    text = Chart("one", evil, evil, evil, [{"name": evil}]).html()
    assert "<img" not in text
    assert text.count("</script>") == 1


def test_a_word_among_numbers_has_no_place_in_a_slice_of_numbers():
    lines = list(events())
    changed = next(event for event in lines if event["event"] == "ask" and event["params"]["weighting"] != FAILS)
    changed["params"]["k"] = "all"
    results = findings(replay(lines))
    chart = next(event for event in importance.slices(results) if event.layout["xaxis"]["title"]["text"] == "k")
    shown = [x for series in chart.data for x in series["x"]]
    whole = [row["params"]["k"] for row in results.ranked if not row["failed"]]
    assert "all" in whole
    assert sorted(shown) == sorted(value for value in whole if value != "all")


@pytest.mark.parametrize(("seeds", "configurations", "warned"), [(4, 3, True), (5, 2, True), (5, 3, False)])
def test_intervals_of_few_seeds_that_collapse_are_said_to_be_too_short(seeds, configurations, warned):
    search = HandWritten(specification())
    names = [f"c{number}" for number in range(configurations)]
    for number, name in enumerate(names):
        search.ask(name, k=50 + number, weighting="standard")
        search.run(name, 0, metrics("dev", 0.8, 0.6, 0.5))
    search.freeze(*names)
    for replicate in range(1000, 1000 + seeds):
        for name in names:
            fallen = name == "c0" and replicate == 1000
            classes = {"dev/predicted_classes/qel": 1.0 if fallen else 4.0}
            search.run(name, replicate, metrics("dev", 0.06 if fallen else 0.8, 0.6, 0.5) | classes)
    assert any("these intervals are too short" in line for line in answer(search.results, "x")) == warned
