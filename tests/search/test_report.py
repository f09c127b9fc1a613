import csv
import io
import json

import numpy as np
import pytest
from rich.console import Console

from search import report
from search.ledger import replay
from search.progress import Progress, minutes_in_words
from search.selection import Selection

SELECTION = Selection("macro_f1", "source_dev", "mean", "s", ("a",))
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
    return report.leaderboard(replay(events()), SELECTION)


def test_rows_are_ranked_with_means_and_spreads_of_their_own_scores():
    first, second, third = rows()
    assert [first["config_id"], second["config_id"], third["config_id"]] == ["good", "same", "poor"]
    source, target = np.array(SCORES["good"]).T
    assert first["mean"] == pytest.approx(source.mean())
    assert first["sd"] == pytest.approx(source.std(ddof=1))
    assert first["scores"]["dev/macro_f1"]["a"] == pytest.approx(
        {"mean": target.mean(), "sd": target.std(ddof=1), "n": 3}
    )
    assert first["seconds"] == 6.0
    assert second["tied"]
    assert not third["tied"]
    assert sum(row["p_best"] for row in rows()) == pytest.approx(1)
    assert third["p_best"] == 0


def test_audit_scores_do_not_rank():
    """`same` is far better on the target; the selection looks at the source alone."""
    assert rows()[1]["scores"]["dev/macro_f1"]["a"]["mean"] > rows()[0]["scores"]["dev/macro_f1"]["a"]["mean"]
    oracle = Selection("macro_f1", "target_dev", "mean", "s", ("a",))
    assert report.leaderboard(replay(events()), oracle)[0]["config_id"] == "same"


def test_the_order_of_results_does_not_matter():
    lines = list(events())
    asks = [line for line in lines if line["event"] in ("search", "ask")]
    runs = [line for line in lines if line["event"] in ("start", "result")]
    pairs = [runs[index : index + 2] for index in range(0, len(runs), 2)]
    shuffled = [line for pair in np.random.default_rng(0).permutation(np.arange(len(pairs))) for line in pairs[pair]]
    assert report.leaderboard(replay(asks + shuffled), SELECTION) == rows()


def test_files_hold_what_the_rows_hold(tmp_path):
    report.write(rows(), tmp_path)
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
    console.print(report.as_table(rows(), SELECTION, width=width))
    text = console.file.getvalue()
    assert max(len(line) for line in text.splitlines()) <= width
    assert "k=0" in text
    assert "lr" not in text  # the same everywhere
    assert "0.810 ± 0.010" in text
    assert ("0.785 .. 0.835" in text) == (width == 120)
    assert "same =" in text
    assert "poor =" not in text


def test_brackets_in_an_error_are_text_and_no_markup():
    console = Console(width=100, file=io.StringIO(), markup=False)
    state = replay(events())
    run = state.configurations["good"].runs[0]
    run.status, run.error = "failed:error", "ValueError: got [/tmp/x] for [cpu]"
    Progress(console, state, SELECTION, total=9).result(run)
    assert "good seed 0: failed:error, ValueError: got [/tmp/x] for [cpu] (2.0 s)" in console.file.getvalue()


def test_progress_counts_runs_and_says_how_long():
    console = Console(width=100, file=io.StringIO(), force_terminal=True)
    lines = list(events())[:-1]
    progress = Progress(console, replay(lines), SELECTION, total=20)
    assert progress.headline() == "8/20 runs"
    console.print(progress.view())
    text = console.file.getvalue()
    assert "running" in text
    assert "poor" in text
    assert [minutes_in_words(value) for value in (0.5, 1.2, 12.4, 200)] == ["30 s", "72 s", "12 min", "3.3 h"]
