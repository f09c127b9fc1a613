"""Before a release: the demo as shipped, and a search under random faults. Many minutes on two cores."""

import re
import subprocess
import sys

import pytest

from seedwise.search.ledger.file import read
from tests.conftest import ROOT
from tests.search.studies.test_search import board, run

pytestmark = [pytest.mark.release, pytest.mark.timeout(3600)]


def test_the_demo_as_make_search_runs_it(tmp_path):
    """At full size, in its own process: all runs succeed, and the best reruns to its scores."""
    output = run(tmp_path, "search", "demo", apart=True)
    assert "the budget of 32 runs is spent" in output
    folder = tmp_path / "runs" / "demo"
    assert {result.status for result in read(folder / "ledger.jsonl").runs()} == {"done"}
    rows = board(folder)
    assert rows[0]["fresh"]["replicates"] == 3
    assert set(rows[0]["fresh"]["scores"]["test/macro_f1"]) == {"qan", "qel", "qor"}
    again = run(tmp_path, "run", folder / "best.yaml", "--out", "again", apart=True)
    assert re.search(r"All scores of \d+ replicates equal those of", again)


def test_a_search_under_fire_loses_nothing_and_repeats_nothing():
    """Workers, nodes, the driver and MLflow's server are killed, one every few seconds (benchmarks/chaos.py)."""
    line = [sys.executable, "-m", "benchmarks.chaos", "--runs", "48"]
    output = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert int(re.search(r"faults: (\d+)", output)[1]) >= 5, output
    assert "planned runs without a result: 0 of 48" in output
    assert "finished runs that were repeated: 0" in output
    assert "leaderboard equal to the undisturbed one: True" in output
    assert "runs in MLflow: 48 of 48, complete: True" in output
