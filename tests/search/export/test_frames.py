"""A search as pandas tables, with the numbers of the ledger and the leaderboard."""

import csv
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from seedwise import load_search
from seedwise.errors import RequestError
from seedwise.search.report.table import write_leaderboard
from seedwise.search.spec.load import recorded
from seedwise.search.studies import decomposition
from tests.conftest import ROOT
from tests.search.hand_written import HandWritten, decomposed, demo, metrics, specification


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    return load_search(demo().write(tmp_path_factory.mktemp("demo")))


def test_runs_are_those_of_the_ledger(loaded):
    runs = loaded.runs
    assert len(runs) == 21
    assert runs.status.value_counts().to_dict() == {"done": 18, "failed:nan": 2, "pruned": 1}
    good = runs[(runs.config_id == "good") & (runs.phase == "search")]
    assert good.score.tolist() == good["dev/macro_f1/qel"].tolist() == pytest.approx([0.81, 0.83, 0.82])
    assert good["params.k"].tolist() == [50, 50, 50]
    assert runs[runs.baseline == "constant"]["params.k"].isna().all()
    failed = runs[runs.status == "failed:nan"]
    assert failed.score.isna().all()
    assert failed.error.tolist() == ["the loss is nan"] * 2
    assert runs.seconds.sum() == 42.0
    by_hand = runs[runs.phase == "confirm"].groupby("config_id")["test/macro_f1/qan"].mean()
    assert by_hand["good"] == pytest.approx(np.mean([0.55, 0.58, 0.56]))


def test_each_step_is_one_row(loaded):
    good = loaded.steps[loaded.steps.config_id == "good"]
    assert good[good.replicate == 0].step.tolist() == [1, 2]
    assert good[good.replicate == 1].score.tolist() == pytest.approx([0.83, 0.83])


def test_the_leaderboard_is_that_of_the_file_with_numbers_as_numbers(loaded, tmp_path):
    state = loaded.state
    write_leaderboard(recorded(state).parts.results(state).leaderboard, tmp_path)
    written = list(csv.reader((tmp_path / "leaderboard.csv").read_text().splitlines()))
    assert list(loaded.leaderboard.columns) == written[0]
    column = written[0].index("config_id")
    assert loaded.leaderboard.config_id.tolist() == [line[column] for line in written[1:]]
    assert loaded.leaderboard.replicated.tolist() == [True] * len(written[1:])
    assert pd.api.types.is_float_dtype(loaded.leaderboard["mean"])
    assert loaded.leaderboard["mean"][0] == pytest.approx(0.82)
    assert loaded.leaderboard["fresh.test/macro_f1/qan"][0] == pytest.approx(np.mean([0.55, 0.58, 0.56]))
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "leaderboard.csv")[["mean", "sd", "params.k"]],
        loaded.leaderboard[["mean", "sd", "params.k"]],
    )


def test_other_fields_are_plain_data(loaded):
    assert loaded.selection == "macro_f1 on source_dev"
    assert loaded.specification["name"] == "demo"
    assert loaded.best["config_id"] == "good"


def test_a_search_that_has_just_begun_has_tables_too(tmp_path):
    search = HandWritten(specification())
    empty = load_search(search.write(tmp_path))
    assert [len(table) for table in (empty.runs, empty.steps, empty.leaderboard)] == [0, 0, 0]
    assert empty.best is None
    search.ask("a", k=50, weighting="standard")
    search.tell("start", config_id="a", replicate=0, phase="search")
    search.tell("step", config_id="a", replicate=0, step=1, epochs=3, metrics=metrics("dev", 0.5, 0.4, 0.3))
    search.write(tmp_path)
    with open(tmp_path / "ledger.jsonl", "a") as ledger:
        ledger.write('{"event": "res')  # a line that is being written
    now = load_search(str(tmp_path))
    assert now.runs[["step", "score"]].values.tolist() == [[1, 0.5]]
    assert now.best is None
    search.tell("result", config_id="a", replicate=0, phase="search", status="done", metrics={}, seconds=1.0)
    ended = load_search(search.write(tmp_path))
    assert ended.leaderboard["sd"].dtype == ended.runs.score.dtype == float  # and their values are unknown


def test_a_missing_search_is_one_line(tmp_path):
    with pytest.raises(RequestError, match=r"there is no search here. Name the folder that has its ledger.jsonl."):
        load_search(tmp_path)


def test_importing_search_imports_no_pandas():
    program = (
        "import sys, seedwise.search; print([name for name in ('pandas', 'numpy', 'optuna') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_the_examples_of_the_guide_run_as_written(tmp_path, monkeypatch, capsys):
    demo().write(tmp_path / "runs" / "demo")
    values = [metrics("dev", score, 0.5, 1 - score) for score in (0.6, 0.7, 0.9)]
    parts = decomposed({"all": values, "head": values[:2]})
    decomposition.write(parts.results, parts.write(tmp_path / "runs" / "demo-decompose"))
    monkeypatch.chdir(tmp_path)
    programs = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "notebook.md").read_text(), flags=re.DOTALL)
    shown = []
    for program in programs:
        exec(compile(program, "notebook.md", "exec"), {})
        shown.append(capsys.readouterr().out)
    assert "macro_f1 on source_dev" in shown[0]
    (line,) = [line for line in shown[1].splitlines() if line.startswith("dev/macro_f1/qor")]
    assert [float(sd) for sd in line.split()[1:]] == pytest.approx(
        [np.std([0.4, 0.3, 0.1], ddof=1), 0.005**0.5], abs=1e-6
    )
