"""A search continues on a new head after its cluster has lost the first."""

import pytest

from tests.raylets import raylets
from tests.search.cluster.test_nodes import done, same_board, start, wait_for, write_patient
from tests.search.story import TEST_TIMEOUT
from tests.search.studies.test_search import board, results, run, write

pytestmark = [pytest.mark.extended, pytest.mark.usefixtures("ray_here")]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, ray_here):
    folder = write(tmp_path_factory.mktemp("undisturbed"))
    run(folder, "search", "spec.yaml")
    return board(folder / "runs" / "quadratic")


def test_a_search_continues_on_a_new_head_after_losing_the_first(tmp_path, undisturbed):
    marker = write_patient(tmp_path)
    folder = tmp_path / "runs" / "quadratic"
    with raylets(1) as first:
        # Seconds that a driver waits for a lost head; the default is a minute.
        soon = {"RAY_gcs_rpc_server_reconnect_timeout_s": "2"}
        process = start(tmp_path, "search", "spec.yaml", "--address", first.address(), **soon)
        wait_for(lambda: done(folder) == 2, process)  # of the first configuration, whose third run waits
        first.kill_head_and_raylets()
        process.communicate(timeout=TEST_TIMEOUT)
    assert process.returncode != 0
    before = results(folder)
    assert len(before) == 2
    marker.touch()
    run(tmp_path, "resume", folder)
    assert results(folder)[: len(before)] == before
    assert len(results(folder)) == len(set(results(folder))) == 12
    assert same_board(board(folder), undisturbed)
