import csv
import io
import json

import numpy as np
import pytest
from rich.console import Console

from seedwise.search.ledger.state import replay
from seedwise.search.ranking import leaderboard
from seedwise.search.ranking.baseline_scores import varying
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.selection import Selection
from seedwise.search.report.live import Progress
from seedwise.search.report.table import as_table, write_leaderboard
from seedwise.text import duration

SELECTION = Selection("macro_f1", "source_dev", "mean", "s", ("a",))
ESTIMATOR = Estimator(SELECTION)
SCORES = {
    "good": [(0.80, 0.50), (0.82, 0.55), (0.81, 0.52)],
    "same": [(0.81, 0.60), (0.80, 0.61), (0.81, 0.62)],
    "poor": [(0.30, 0.20), (0.35, 0.21), (0.31, 0.25)],
}


def events(scores=SCORES):
    yield {"event": "search", "time": 0.0}
    for ask, (config_id, runs) in enumerate(scores.items()):
        params = {"k": ask, "weighting": "softmax", "lr": 0.1}
        yield {"event": "ask", "config_id": config_id, "params": params, "ask": ask}
        for replicate, (source, target) in enumerate(runs):
            run = {"config_id": config_id, "replicate": replicate, "phase": "search"}
            metrics = {"dev/macro_f1/s": source, "dev/macro_f1/a": target}
            yield {"event": "start", **run}
            yield {"event": "result", **run, "status": "done", "metrics": metrics, "seconds": 2.0}


def rows():
    return leaderboard.leaderboard(replay(events()), ESTIMATOR)


def test_rows_are_ranked_with_means_and_spreads_of_their_own_scores():
    first, second, third = rows()
    assert [first["config_id"], second["config_id"], third["config_id"]] == ["good", "same", "poor"]
    source, target = np.array(SCORES["good"]).T
    assert first["mean"] == pytest.approx(source.mean())
    assert first["sd"] == pytest.approx(source.std(ddof=1))
    assert first["scores"]["dev/macro_f1"]["a"] == pytest.approx(
        {"mean": target.mean(), "sd": target.std(ddof=1), "n": 3, "failed": 0}
    )
    assert first["seconds"] == 6.0
    assert second["tied"]
    assert not third["tied"]
    assert sum(row["p_best"] for row in rows()) == pytest.approx(1)
    assert third["p_best"] == 0


def confirmed():
    """The same search, with `good` and `same` confirmed at two fresh seeds, one of which fails."""
    lines = [*events(), {"event": "freeze", "because": "over", "configs": ["good", "same"]}]
    fresh = {"good": [(0.70, 0.40), None], "same": [(0.80, 0.61), (0.82, 0.63)]}
    for config_id, runs in fresh.items():
        for replicate, scores in enumerate(runs, start=1000):
            run = {"config_id": config_id, "replicate": replicate, "phase": "confirm"}
            source, target = scores or (0.0, 0.0)
            metrics = {"dev/macro_f1/s": source, "dev/macro_f1/a": target, "test/macro_f1/a": target - 0.01}
            status = {"status": "done", "metrics": metrics} if scores else {"status": "failed:nan", "metrics": {}}
            lines += [{"event": "start", **run}, {"event": "result", **run, **status, "seconds": 2.0}]
    return replay(lines)


def test_fresh_seeds_stand_beside_the_search_and_do_not_change_it():
    board = leaderboard.leaderboard(confirmed(), ESTIMATOR)
    before = rows()
    for row, was in zip(board, before, strict=True):
        assert {key: value for key, value in row.items() if key != "fresh"} == {
            key: value for key, value in was.items() if key != "fresh"
        }
    assert board[1]["fresh"]["mean"] == pytest.approx(0.81)
    assert board[1]["fresh"]["scores"]["test/macro_f1"]["a"]["mean"] == pytest.approx(0.61)
    assert board[2]["fresh"] is None
    assert board[0]["fresh"]["failed"] == 1
    assert board[0]["fresh"]["mean"] == pytest.approx((0.70 + 0.0) / 2)  # the failed run counts as the worst score
    assert not any(name.startswith("test") for row in board for name in row["scores"])


def test_a_second_objective_makes_a_front():
    selection = Selection("macro_f1", "source_dev", "mean", "s", ("a",), second=("seconds", "min"))
    table = [
        {"config_id": name, "estimate": score, "seconds": 2 * cost, "replicates": 2, "sd": None, "scores": {}}
        for name, score, cost in [("a", 0.9, 5.0), ("b", 0.8, 6.0), ("c", 0.8, 2.0), ("d", 0.7, 2.0), ("e", 0.6, 1.0)]
    ]
    leaderboard.mark_front(table, *selection.second)
    assert [row["config_id"] for row in table if row["front"]] == ["a", "c", "e"]
    assert [row["second"] for row in table] == [5.0, 6.0, 2.0, 2.0, 1.0]
    for row, cost in zip(table, (3.0, 1.0, 2.0, 0.5, 4.0), strict=True):
        row["scores"] = {"cost": {"cost": {"mean": cost}}}  # a metric without a language in its name
    leaderboard.mark_front(table, "cost", "min")
    assert [row["config_id"] for row in table if row["front"]] == ["a", "b", "d"]
    leaderboard.mark_front(table, "seconds", "max")
    assert [row["config_id"] for row in table if row["front"]] == ["a", "b"]
    assert all(row["front"] is False for row in _spread(table))


def _spread(table):
    leaderboard.mark_front(table, "spread", "min")  # no configuration has two replicates with a spread
    return table


def test_the_price_of_underspecification_by_hand():
    price = leaderboard.underspecification(replay(events()), ESTIMATOR)
    assert price["configurations"] == 3
    assert price["rank_correlation"] == pytest.approx(0.5)  # source: good, same, poor; target: same, good, poor
    target = {name: np.mean([pair[1] for pair in pairs]) for name, pairs in SCORES.items()}
    assert price["selected"] == {"config_id": "good", "target_score": pytest.approx(target["good"], abs=0.01)}
    assert price["oracle"] == {"config_id": "same", "target_score": pytest.approx(target["same"], abs=0.01)}
    assert price["gap"] == pytest.approx(target["same"] - target["good"], abs=0.01)
    words = leaderboard.in_words(price)
    assert "rank correlation 0.50" in words
    assert f"gap {price['gap']:.3f}" in words
    oracle = Selection("macro_f1", "target_dev", "mean", "s", ("a",))
    assert leaderboard.underspecification(replay(events()), Estimator(oracle)) is None
    assert leaderboard.in_words(None) == ""


@pytest.mark.parametrize("equal", ["source", "target"])
def test_the_price_of_equal_scores_is_a_complete_sentence(equal):
    scores = {name: [(0.5, 0.1 * i) if equal == "source" else (0.1 * i, 0.5)] * 2 for i, name in enumerate(SCORES)}
    words = leaderboard.in_words(leaderboard.underspecification(replay(events(scores)), ESTIMATOR))
    assert words.startswith(
        "price of under-specification on target dev: no rank correlation, as selection or target scores are all equal, "
        "over 3 configurations; selected 0."
    )


def test_without_target_scores_there_is_no_price():
    """No value is invented where a target was not reported or all runs failed."""
    lines = list(events())
    for line in lines:
        if line["event"] == "result":
            line["metrics"] = {"dev/macro_f1/s": line["metrics"]["dev/macro_f1/s"]}
    assert leaderboard.underspecification(replay(lines), ESTIMATOR) is None
    for line in lines:
        if line["event"] == "result":
            line["status"] = "failed:nan"
    assert leaderboard.underspecification(replay(lines), ESTIMATOR) is None


def test_a_live_view_computes_only_the_rows_it_shows():
    assert leaderboard.leaderboard(replay(events()), ESTIMATOR, 2) == rows()[:2]


def test_the_gap_is_smaller_than_that_of_the_luckiest():
    """Thirty configurations with one seed each, equal on the target up to noise: the best raw mean is 2 sd higher."""
    draw = np.random.default_rng(0)
    scores = {f"c{i:02}": [(0.5 + 0.01 * i, 0.6 + noise)] for i, noise in enumerate(draw.normal(0, 0.05, 30))}
    scores |= {f"d{i}": [(0.3, 0.6 + x), (0.3, 0.6 + y)] for i, (x, y) in enumerate(draw.normal(0, 0.05, (10, 2)))}
    price = leaderboard.underspecification(replay(events(scores)), ESTIMATOR)
    raw = max(pair[1] for pairs in scores.values() for pair in pairs) - scores["c29"][0][1]
    assert 0 <= price["gap"] < 0.8 * raw


def test_the_table_shows_fresh_seeds_where_there_are_any():
    console = Console(width=120, file=io.StringIO())
    console.print(as_table(leaderboard.leaderboard(confirmed(), ESTIMATOR), SELECTION, width=120))
    text = console.file.getvalue()
    assert "fresh seeds" in text
    assert "0.810 ± 0.014" in text  # of `same`: 0.80 and 0.82


def test_pruned_configurations_have_no_rank_and_no_score():
    lines = list(events())
    run = {"config_id": "cut", "replicate": 0, "phase": "search"}
    lines += [
        {"event": "ask", "config_id": "cut", "params": {"k": 9}, "ask": 9},
        {"event": "start", **run},
        {"event": "result", **run, "status": "pruned", "metrics": {"dev/macro_f1/s": 0.99}, "seconds": 1.0},
    ]
    board = leaderboard.leaderboard(replay(lines), ESTIMATOR)
    assert [row["config_id"] for row in board] == ["good", "same", "poor", "cut"]
    assert board[:3] == rows()  # its score is never mixed with scores of complete runs
    assert (board[3]["mean"], board[3]["status"], board[3]["p_best"]) == (None, "pruned", 0.0)


def test_audit_scores_do_not_rank():
    """`same` is far better on the target; the selection uses only the source."""
    assert rows()[1]["scores"]["dev/macro_f1"]["a"]["mean"] > rows()[0]["scores"]["dev/macro_f1"]["a"]["mean"]
    oracle = Selection("macro_f1", "target_dev", "mean", "s", ("a",))
    assert leaderboard.leaderboard(replay(events()), Estimator(oracle))[0]["config_id"] == "same"


def test_the_order_of_results_does_not_matter():
    lines = list(events())
    asks = [line for line in lines if line["event"] in ("search", "ask")]
    runs = [line for line in lines if line["event"] in ("start", "result")]
    pairs = [runs[index : index + 2] for index in range(0, len(runs), 2)]
    shuffled = [line for pair in np.random.default_rng(0).permutation(np.arange(len(pairs))) for line in pairs[pair]]
    assert leaderboard.leaderboard(replay(asks + shuffled), ESTIMATOR) == rows()


def test_files_hold_what_the_rows_hold(tmp_path):
    write_leaderboard(rows(), tmp_path)
    assert json.loads((tmp_path / "leaderboard.json").read_text()) == rows()
    table = list(csv.DictReader((tmp_path / "leaderboard.csv").read_text().splitlines()))
    assert [line["config_id"] for line in table] == ["good", "same", "poor"]
    assert float(table[0]["mean"]) == rows()[0]["mean"]
    assert table[2]["params.k"] == "2"
    assert float(table[1]["dev/macro_f1/a"]) == pytest.approx(0.61)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["leaderboard.csv", "leaderboard.json"]


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_its_terminal_and_shows_what_differs(width):
    console = Console(width=width, file=io.StringIO())
    console.print(as_table(rows(), SELECTION, width=width))
    text = console.file.getvalue()
    assert max(len(line) for line in text.splitlines()) <= width
    assert "k=0" in text
    assert "lr" not in text  # equal in all configurations
    shown = "mean" if width == 120 else "estimate"
    assert f"{rows()[0][shown]:.3f} ± 0.010" in text
    interval = f"{rows()[0]['estimate_low']:.3f} .. {rows()[0]['estimate_high']:.3f}"
    assert (interval in text) == (width == 120)
    assert "same =" in text
    assert "poor =" not in text


def test_brackets_in_an_error_are_text_and_no_markup():
    console = Console(width=100, file=io.StringIO(), markup=False)
    state = replay(events())
    run = state.configurations["good"].runs[0]
    run.status, run.error = "failed:error", "ValueError: got [/tmp/x] for [cpu]"
    Progress(console, state, ESTIMATOR, total=9).result(run)
    assert "good, replicate 0: failed:error, ValueError: got [/tmp/x] for [cpu] (2.0 s)" in console.file.getvalue()


def test_progress_counts_runs_and_says_how_long():
    console = Console(width=100, file=io.StringIO(), force_terminal=True)
    lines = list(events())[:-1]
    progress = Progress(console, replay(lines), ESTIMATOR, total=20)
    assert progress.headline() == "8/20 runs"
    running = progress.state.configurations["poor"].runs[2]
    running.step, running.epochs = 1, 4
    console.print(progress.view())
    text = console.file.getvalue()
    (line,) = (line for line in text.splitlines() if "replicate 2" in line)
    assert line.split() == ["poor", "replicate", "2", "━━━━", "1", "-"]
    assert [duration(value, rough=True) for value in (30, 72, 744, 12000)] == ["30 s", "72 s", "12 min", "3.3 h"]


@pytest.mark.parametrize("width", [80, 120])
def test_without_replicates_nothing_is_said_about_p_best_and_ties(width):
    """With one score each, a guessed noise would make the highest the best with certainty."""
    single = {name: runs[:1] for name, runs in SCORES.items()}
    board = leaderboard.leaderboard(replay(events(single)), ESTIMATOR)
    assert not any(row["replicated"] for row in board)
    assert board[0]["p_best"] > 0.5  # the guessed noise
    console = Console(width=width, file=io.StringIO())
    console.print(as_table(board, SELECTION, width=width))
    text = " ".join(console.file.getvalue().split())
    assert "no configuration has two replicates" in text
    assert f"{board[0]['p_best']:.2f}" not in text
    assert "=" not in text.replace("k=", "")
    assert all(row["replicated"] for row in rows())  # unchanged with replicates


def test_two_runs_of_which_one_failed_are_no_replicates():
    lines = [line for line in events() if line.get("config_id") in (None, "good")]
    for line in lines:
        if line["event"] == "result" and line["replicate"] > 0:
            line |= {"status": "failed:nan", "metrics": {}}
    assert not leaderboard.leaderboard(replay(lines), ESTIMATOR)[0]["replicated"]


def test_a_parameter_with_one_value_wherever_it_exists_is_not_shown():
    rows = [{"weighting": "standard", "k": 1}, {"weighting": "softmax", "tau": 0.5, "k": 1}]
    assert varying(rows) == ["weighting"]
    assert varying([*rows, {"weighting": "softmax", "tau": 0.1, "k": 1}]) == ["weighting", "tau"]


def test_a_collapse_on_fresh_seeds_alone_is_marked_and_in_the_file():
    lines = [*events(), {"event": "freeze", "because": "over", "configs": ["good"]}]
    run = {"config_id": "good", "replicate": 1000, "phase": "confirm"}
    metrics = {"dev/macro_f1/s": 0.06, "dev/predicted_classes/s": 1.0}
    lines += [
        {"event": "start", **run},
        {"event": "result", **run, "status": "done", "metrics": metrics, "seconds": 2.0},
    ]
    board = leaderboard.leaderboard(replay(lines), ESTIMATOR)
    assert board[0]["collapsed"] == {}
    console = Console(width=120, file=io.StringIO())
    console.print(as_table(board, SELECTION, width=120))
    assert "good !" in console.file.getvalue()
    assert "! a single class is predicted in some runs" in console.file.getvalue()
    columns, table = leaderboard.flat(board)
    assert table[0][columns.index("fresh.collapsed")] == "dev/s:1"
