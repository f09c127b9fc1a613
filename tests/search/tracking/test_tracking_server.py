"""Searches with a real MLflow server that starts late or is killed in the middle."""

import os
import signal
import subprocess

import pytest

from seedwise.search.commands.main import main
from seedwise.search.tracking import follower
from seedwise.search.tracking.mirror import mask
from tests.search.story import (
    FILES,
    TEST_TIMEOUT,
    follow_here,
    history,
    picture,
    runs_in,
    runs_of,
    server,
    story_in,
    tell,
    twin,
    wait_for,
)
from tests.search.studies.test_search import command, environment, results, write
from tests.servers import own_port

pytestmark = pytest.mark.extended


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A search folder that was never written to MLflow."""
    folder = tmp_path_factory.mktemp("finished")
    tell(story_in(folder, "off", searched=["k", "weighting"]))
    return folder


def test_everything_arrives_when_the_server_comes_late_and_no_password_is_shown(finished, database, tmp_path):
    from mlflow import MlflowClient

    port = own_port()
    uri = f"http://127.0.0.1:{port}"
    whole = f"http://someone:sesame@127.0.0.1:{port}"
    folder = twin(finished, tmp_path / "twin", mask(whole))
    process = follower.start_follower(folder, whole)
    wait_for(lambda: "cannot be written" in (folder / "tracking.log").read_text())
    assert process.poll() is None
    with server(database(), tmp_path / "files", port):
        assert follower.finish(process, TEST_TIMEOUT), (folder / "tracking.log").read_text()
        runs = runs_of(uri)
        assert len(runs) == 11
        assert history(uri, runs["run", "a", "1"], "score") == [(1, 0.1), (2, 0.2), (3, 0.64)]
        assert runs[("search",)].data.params["tracking.uri"] == f"http://***@127.0.0.1:{port}"
        files = {file.path for file in MlflowClient(uri).list_artifacts(runs[("search",)].info.run_id)}
        assert files == FILES
    assert "answers again" in (folder / "tracking.log").read_text()
    assert "sesame" not in (folder / "tracking.log").read_text()


def test_a_server_that_is_killed_in_the_middle_lacks_nothing_afterwards(finished, database, tmp_path):
    """The ledger grows meanwhile, and afterwards both stores hold the same, run by run."""
    undisturbed, disturbed, port = database(), database(), own_port()
    assert follow_here(twin(finished, tmp_path / "whole", undisturbed))
    folder = twin(finished, tmp_path / "search", f"http://127.0.0.1:{port}")
    lines = (folder / "ledger.jsonl").read_text().splitlines(keepends=True)
    (folder / "ledger.jsonl").write_text("".join(lines[:8]))
    with server(disturbed, tmp_path / "files", port) as process:
        following = follower.start_follower(folder)
        wait_for(lambda: runs_in(disturbed) >= 4)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    with open(folder / "ledger.jsonl", "a") as ledger:
        ledger.write("".join(lines[8:30]))
        ledger.flush()
        wait_for(lambda: "cannot be written" in (folder / "tracking.log").read_text())
        ledger.write("".join(lines[30:]))
    with server(disturbed, tmp_path / "files", port):
        assert follower.finish(following, TEST_TIMEOUT), (folder / "tracking.log").read_text()
    assert picture(disturbed) == picture(undisturbed)


def test_a_search_goes_on_while_its_server_is_killed_and_nothing_is_missing_when_it_is_back(database, tmp_path):
    """A real search on Ray. Its runs end while MLflow is away; afterwards its store is that of its ledger.

    The last replicate of every configuration waits for the marker: a third of the runs is still to come at the kill.
    """
    uri, port, marker = database(), own_port(), tmp_path / "marker"
    write(
        tmp_path,
        method={"trainable": "tests.methods:Patient", "space": "tests.methods:space"},
        space={"marker": str(marker), "seconds": 0.1},
        budget={"runs": 24},
        tracking={"uri": f"http://127.0.0.1:{port}"},
    )
    folder = tmp_path / "runs" / "quadratic"
    with server(uri, tmp_path / "files", port) as process:
        search = subprocess.Popen(
            command("search", "spec.yaml"), cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True
        )
        wait_for(lambda: runs_in(uri) >= 4 or search.poll() is not None)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    before = len(results(folder))
    assert before <= 16
    marker.touch()
    wait_for(lambda: len(results(folder)) >= before + 6 or search.poll() is not None)
    marker.unlink()  # later runs wait until the server is back
    wait_for(lambda: "cannot be written" in (folder / "tracking.log").read_text() or search.poll() is not None)
    assert search.poll() is None
    with server(uri, tmp_path / "files", port):
        marker.touch()
        output, _ = search.communicate(timeout=TEST_TIMEOUT)
        assert search.returncode == 0
        assert "MLflow did not answer" not in output
    assert len(results(folder)) == len(set(results(folder))) == 24
    assert "answers again" in (folder / "tracking.log").read_text()
    undisturbed = database()
    assert main(["track", str(folder), "--uri", undisturbed]) == 0
    assert picture(uri, "quadratic") == picture(undisturbed, "quadratic")
