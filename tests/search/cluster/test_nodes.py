"""Searches on real clusters of several raylets, with nodes that die and join."""

import json
import subprocess
import threading
import time

import pytest

from seedwise.search.ledger.file import scan
from tests.raylets import raylets
from tests.search.story import TEST_TIMEOUT
from tests.search.studies.test_search import board, command, environment, results, run, write
from tests.servers import own_port

pytestmark = pytest.mark.usefixtures("ray_here")
CLIENT_PORT = own_port()


@pytest.fixture(scope="module")
def cluster():
    with raylets(3, ray_client_server_port=CLIENT_PORT) as made:
        yield made


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, ray_here):
    folder = write(tmp_path_factory.mktemp("undisturbed"))
    run(folder, "search", "spec.yaml")
    return board(folder / "runs" / "quadratic")


def start(folder, *arguments, **variables):
    return subprocess.Popen(
        command(*arguments),
        cwd=folder,
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_for(condition, process):
    pause, deadline = threading.Event(), time.monotonic() + TEST_TIMEOUT
    while not condition():
        assert process.poll() is None, process.stdout.read()
        if time.monotonic() > deadline:
            process.kill()
            pytest.fail("it did not come about")
        pause.wait(0.05)


def write_patient(folder, **changes):
    """Start a search whose third replicates wait in their second epoch until the returned file exists."""
    marker = folder / "marker"
    method = {"trainable": "tests.methods:Patient", "space": "tests.methods:space"}
    write(folder, method=method, space={"marker": str(marker)}, **changes)
    return marker


def events(folder, kind):
    return [event for event in scan(folder / "ledger.jsonl")[0] if event["event"] == kind]


def done(folder):
    return len(results(folder)) if (folder / "ledger.jsonl").exists() else 0


def same_board(rows, expected):
    """The ids differ, since the parameters that control waiting differ."""
    for row, wanted in zip(rows, expected, strict=True):
        assert row["params"]["x"] == wanted["params"]["x"]
        for key in ("scores", "replicates", "mean", "sd", "ci_low", "ci_high", "tied", "status"):
            assert row[key] == wanted[key], key
    return True


@pytest.mark.extended
def test_a_search_survives_the_loss_of_a_node_and_uses_a_new_node(tmp_path, cluster, undisturbed):
    """New nodes take waiting runs; the run of a node that dies continues on the next new node."""
    marker = write_patient(tmp_path, checkpoints={"seconds": 0})
    folder = tmp_path / "runs" / "quadratic"
    process = start(tmp_path, "search", "spec.yaml", "--address", cluster.address())
    waiting = tmp_path / "marker.log"
    wait_for(lambda: waiting.exists() and len(waiting.read_text().split()) == 3, process)
    old = cluster.nodes()
    victim = old[0]
    assert len(results(folder)) == 6
    cluster.kill_node(victim)
    wait_for(lambda: events(folder, "lost"), process)
    added = cluster.add_node()
    wait_for(lambda: len(waiting.read_text().split()) == 4, process)
    marker.touch()
    output, _ = process.communicate(timeout=TEST_TIMEOUT)
    assert process.returncode == 0, output
    assert "3 runs at once on 4 nodes, 1 CPU each (there is no GPU)." in output  # the head is a node too
    assert len(results(folder)) == len(set(results(folder))) == 12
    (lost,) = events(folder, "lost")
    assert lost["node"] == victim
    places = {(event["config_id"], event["replicate"]): event["node"] for event in events(folder, "result")}
    assert places[lost["config_id"], 2] == added
    assert set(places.values()) >= {*old, added} - {victim}
    steps = [event for event in events(folder, "step") if event["config_id"] == lost["config_id"]]
    assert sum(event["replicate"] == 2 for event in steps) == 1, "its first epoch was saved, and not done again"
    assert same_board(board(folder), undisturbed)


OWN = """
from tests.methods import Quadratic, space

class Own(Quadratic):
    def epoch(self, number):
        return {**super().epoch(number), "shipped": float("_ray_pkg" in __file__)}
"""


@pytest.mark.extended
def test_code_is_sent_to_the_cluster_also_by_a_client_outside_it(tmp_path, cluster):
    """The module lies in the driver's folder; workers import the copy that Ray unpacked for them."""
    pytest.importorskip("grpc")
    (tmp_path / "own.py").write_text(OWN)
    write(
        tmp_path,
        method={"trainable": "own:Own", "space": "own:space"},
        budget={"runs": 3},
        checkpoints={"seconds": 0},
    )
    output = run(
        tmp_path,
        "search",
        "spec.yaml",
        "--address",
        f"ray://127.0.0.1:{CLIENT_PORT}",
        apart=True,
    )
    folder = tmp_path / "runs" / "quadratic"
    assert "1 configurations, 3 runs: the budget of 3 runs is spent." in output
    assert [event["metrics"]["shipped"] for event in events(folder, "result")] == [1.0] * 3


def test_an_unreachable_address_is_reported_in_one_line(tmp_path):
    write(tmp_path)
    output = run(tmp_path, "search", "spec.yaml", "--address", "127.0.0.1:1", code=2, apart=True)
    assert "seedwise: --address 127.0.0.1:1: " in output
    assert "Is Ray running there?" in output
    assert "Traceback" not in output
    json.loads((tmp_path / "runs" / "quadratic" / "ledger.jsonl").read_text().splitlines()[0])
