"""Search folders of version 0.8.0, written before modules moved: they can be opened and resumed."""

import json
import shutil

import pytest

from seedwise import load_search, yaml12
from seedwise.renamed_keys import with_new_names
from seedwise.search.ledger.file import read
from tests.conftest import ROOT
from tests.search.studies.test_search import board, results, run, without_tracking

WRITTEN = ROOT / "tests" / "data" / "0.8.0"
pytestmark = pytest.mark.usefixtures("ray_here")


@pytest.fixture
def finished(tmp_path):
    """A search of stitching on the embedded world: 4 configurations at 2 replicates, one confirmed."""
    return shutil.copytree(WRITTEN / "finished", tmp_path / "runs" / "earlier")


def test_a_finished_search_is_shown_reported_and_compared(finished, tmp_path):
    rows = board(WRITTEN / "finished")
    assert "10 runs" in run(tmp_path, "status", finished)
    run(tmp_path, "report", finished)
    best = rows[0]["config_id"]
    assert best[:10] in run(tmp_path, "compare", finished)
    assert best in (finished / "report.html").read_text()
    interrupted = WRITTEN / "interrupted"
    assert "interrupted" in run(tmp_path, "compare", finished, interrupted)
    assert list(load_search(finished).leaderboard["config_id"]) == [row["config_id"] for row in rows]


def test_a_finished_search_exports_the_same_best_configuration(finished, tmp_path):
    run(tmp_path, "export", finished, "--to", tmp_path / "best.yaml")
    then, now = (yaml12.load((folder / "best.yaml").read_text()) for folder in (WRITTEN / "finished", tmp_path))
    then["specification"] = with_new_names(then["specification"], advise=False)
    # One run collapsed. It counts with its score now, and so the estimates differ.
    for key in then.keys() - {"rerun_by", "underspecification"}:
        assert unchanged(now[key], *ESTIMATED) == near(unchanged(then[key], *ESTIMATED)), key


ESTIMATED = "estimate", "estimate_low", "estimate_high", "p_best", "optimism"


def unchanged(tree, *without):
    """A tree without what version 0.8 did not have, without intervals, and without these keys."""
    if isinstance(tree, list):
        return [unchanged(part, *without) for part in tree]
    if not isinstance(tree, dict):
        return tree
    new = {"ci_low", "ci_high", "failed", "collapsed", "mean_all", "mean_targets", "baseline_lengths", *without}
    return {key: unchanged(value, *without) for key, value in tree.items() if key not in new}


def test_its_exported_file_reruns_to_its_scores(finished, tmp_path, fake_loop):
    """Bit for bit on the machine that wrote it; another processor may round differently."""
    rerun = "run", without_tracking(finished / "best.yaml"), "--replicates", 1
    run(tmp_path, *rerun, code=None)
    then = yaml12.load((finished / "best.yaml").read_text())
    (result,) = read(tmp_path / "runs" / "earlier-rerun" / "ledger.jsonl").runs()
    first = then["replicates"][0]
    assert (result.config_id, result.replicate) == (then["config_id"], first["replicate"])
    assert result.metrics == near(first["metrics"])
    equal = result.metrics == first["metrics"]
    said = "All scores of 1 replicates" if equal else "metrics of 1 replicates differ"
    assert said in run(tmp_path, *rerun, code=0 if equal else 1)


def test_an_interrupted_search_resumes_to_the_leaderboard_of_an_undisturbed_one(tmp_path):
    folder = shutil.copytree(WRITTEN / "interrupted", tmp_path / "runs" / "interrupted")
    before = results(folder)
    assert len(before) == 5
    assert "5/11" in run(tmp_path, "status", folder)
    run(tmp_path, "report", folder)
    assert (folder / "report.html").exists()
    run(tmp_path, "resume", folder)
    assert results(folder)[:5] == before
    assert len(set(results(folder))) == len(results(folder)) == 11
    expected = json.loads((WRITTEN / "interrupted" / "expected.json").read_text())
    expected = [{key: value for key, value in row.items() if key != "seconds"} for row in expected]
    assert unchanged(board(folder)) == near(unchanged(expected))


def near(content):
    """Equal up to the last digits: another processor may sum in another order."""
    if isinstance(content, dict):
        return {key: near(value) for key, value in content.items()}
    if isinstance(content, list):
        return [near(value) for value in content]
    return pytest.approx(content, rel=1e-9, abs=1e-12) if isinstance(content, float) else content
