import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedwise.errors import RequestError
from seedwise.search.cluster.placement import MARGIN, Need, Node, Placement, measures, place
from seedwise.search.ledger.file import read
from seedwise.search.spec.schema import Resources
from seedwise.trainables.training.device import memory_share

GB = 1 << 30


def node(cpus=8, gpus=0, gpu_memory=0, memory=64, name="n"):
    """Memory in GB."""
    return Node(name, cpus, gpus, gpu_memory * GB, memory * GB)


def resources(gpus="auto", cpus=1):
    return Resources(gpus_per_run=gpus, cpus_per_run=cpus)


@pytest.mark.parametrize(
    ("per_run", "nodes", "slots"),
    [
        (0.0, [node(2)], 2),
        (1.0, [node(8, 2)], 2),
        (0.25, [node(8, 1)], 4),
        (0.4, [node(8, 2)], 4),  # two on each GPU; the remaining fifths do not fit a fifth run
        (0.1, [node(4, 1)], 4),  # limited by CPUs
        (2.0, [node(16, 5)], 2),
        (2.0, [node(16, 1), node(16, 1), node(16, 3)], 1),  # a run stays on one node
        (0.0, [node(3, 4)], 3),
        (0.0, [node(3), node(5), node(0)], 8),
        (0.25, [node(8, 1), node(2, 4), node(8)], 4 + 2),  # no GPU, no slot
        (0.3333, [node(16, 2)], 6),
    ],
)
def test_slots_of_given_shares_match_a_count_by_hand(per_run, nodes, slots):
    assert place(resources(per_run), nodes).slots(nodes) == slots


# The margin of 15 % leaves 20.4 of 24 GB, 13.6 of 16, 9.35 of 11, 68 of 80.
@pytest.mark.parametrize(
    ("nodes", "need", "cpus", "expected", "slots"),
    [
        ([node(8)], Need(), 1, (1, 0.0), 8),  # no GPU
        ([node(8, 2)], None, 1, (1, 1.0), 2),  # logical GPUs: their memory is unknown
        ([node(32, 1, 24)], Need(5 * GB), 1, (1, 0.25), 4),  # 20.4 / 5 = 4.08
        ([node(32, 1, 24)], Need(6 * GB), 1, (1, 0.3333), 3),  # 3.4
        ([node(32, 1, 24)], Need(11 * GB), 1, (1, 1.0), 1),  # 1.85
        ([node(3, 1, 24)], Need(5 * GB), 1, (1, 0.3333), 3),  # three CPUs: a larger share for each is free
        ([node(32, 1, 24)], Need(5 * GB), 16, (16, 0.5), 2),  # 16 CPUs each: two runs
        (
            [node(32, 1, 24), node(32, 2, 16)],
            Need(5 * GB),
            1,
            (1, 0.5),
            2 + 4,
        ),  # 13.6 / 5 = 2.72: the smaller GPU decides
        ([node(32, 1, 80), node(32, 4, 11)], Need(9 * GB), 1, (1, 1.0), 1 + 4),  # 9.35 / 9 = 1.04
        ([node(32, 1, 80), node(16)], Need(8 * GB), 1, (1, 0.125), 8),  # 8.5; no run on the node without a GPU
        ([node(1, 1, 24)], Need(1 * GB), 1, (1, 1.0), 1),  # one CPU, one run: it may use the whole GPU
        ([node(8, 0, 0, 64)], Need(0, 5 * GB), "auto", (1, 0.0), 8),  # 54.4 / 5 = 10 runs, limited by CPUs
        ([node(8, 0, 0, 64)], Need(0, 18 * GB), "auto", (3, 0.0), 2),  # 3.02 runs: 2 CPUs each would allow 4
        ([node(8, 0, 0, 64)], Need(0, 50 * GB), "auto", (5, 0.0), 1),  # one
        (
            [node(8, 0, 0, 64), node(4, 0, 0, 16)],
            Need(0, 6 * GB),
            "auto",
            (2, 0.0),
            4 + 2,
        ),  # 13.6 / 6 = 2 on the smaller GPU
        ([node(32, 2, 24, 256)], Need(5 * GB, 4 * GB), "auto", (4, 0.25), 8),  # 8 runs share 32 CPUs
    ],
)
def test_auto_matches_a_count_by_hand(nodes, need, cpus, expected, slots):
    placement = place(resources("auto", cpus), nodes, need)
    assert (placement.cpus, placement.gpus) == expected
    assert placement.slots(nodes) == slots


@given(
    st.lists(st.tuples(st.integers(1, 64), st.integers(0, 8), st.integers(8, 80), st.integers(16, 512)), min_size=1),
    st.integers(1, 8),
    st.integers(1, 16),
)
def test_no_device_and_no_machine_is_planned_beyond_its_memory(machines, on_gpu, on_host):
    nodes = [node(cpus, gpus, gpus and gpu_memory, memory) for cpus, gpus, gpu_memory, memory in machines]
    need = Need(on_gpu * GB, on_host * GB)
    small = [node for node in nodes if node.gpus and node.gpu_memory * (1 - MARGIN) < need.gpu_memory]
    if small or any(node.memory * (1 - MARGIN) < need.memory for node in nodes):
        return  # in that case it may be refused
    placement = place(resources("auto", "auto"), nodes, need)
    assert placement.slots(nodes) >= 1
    for machine in nodes:
        runs = placement.slots([machine])
        assert runs * placement.cpus <= machine.cpus
        assert runs * need.memory <= machine.memory
        if placement.gpus:
            on_one = -(-runs // max(1, int(machine.gpus)))
            assert on_one * placement.gpus <= 1 + 1e-9
            assert on_one * need.gpu_memory <= machine.gpu_memory


@given(st.floats(0.05, 1), st.integers(1, 64), st.integers(1, 8))
def test_no_gpu_is_oversubscribed(per_run, cpus, gpus):
    nodes = [node(cpus, gpus)]
    on_one_gpu = -(-place(resources(per_run), nodes).slots(nodes) // gpus)
    assert on_one_gpu * per_run <= 1 + 1e-6


def test_the_memory_limit_of_a_process_leaves_room_for_all_cuda_contexts():
    assert memory_share(0.25, 1 * GB, 16 * GB) == 0.25 - 1 / 16
    assert 4 * (memory_share(0.25, 1 * GB, 16 * GB) * 16 + 1) == 16
    assert (
        memory_share(0.05, 1 * GB, 16 * GB) == 0.005
    )  # a share that is too small fails in the run, not by a negative limit


@pytest.mark.parametrize(
    ("requested", "nodes", "expected"),
    [
        (resources("auto", 1), [node(8)], False),
        (resources("auto", 1), [node(8, 1)], False),  # a logical GPU
        (resources("auto", 1), [node(8), node(8, 1, 24)], True),
        (resources(0.5, 1), [node(8, 1, 24)], False),
        (resources(0.0, "auto"), [node(8)], True),
    ],
)
def test_given_resources_are_not_measured(requested, nodes, expected):
    assert measures(requested, nodes) == expected


@pytest.mark.parametrize(
    ("requested", "nodes", "need", "message"),
    [
        (resources("auto", 9), [node(4)], None, r"resources.cpus_per_run: 9, but there are 4 CPUs\. Set it lower"),
        (
            resources(0.5),
            [node(4)],
            None,
            "gpus_per_run: 0.5, but there are 0 GPUs. Set it lower, or to auto",
        ),
        (resources(2.0), [node(4, 1), node(4, 1)], None, "2, but there are 1 GPUs on any node"),
        (
            resources(),
            [node(8, 1, 80), node(8, 1, 8, name="old")],
            Need(7 * GB),
            "run needs 7.0 GB, a GPU of old has 8.0 GB. Make batches smaller, or leave that node out.",
        ),
        (
            resources(0.0, "auto"),
            [node(8, memory=16, name="small")],
            Need(0, 14 * GB),
            "needs 14.0 GB, small has 16.0 GB",
        ),
    ],
)
def test_a_request_that_does_not_fit_is_refused(requested, nodes, need, message):
    with pytest.raises(RequestError, match=message):
        place(requested, nodes, need)


def test_a_run_that_needs_more_than_its_share_gets_a_whole_device():
    assert Placement(1, 0.25).whole([node(8, 1)]) == Placement(1, 1.0)
    assert Placement(2, 0.0).whole([node(8), node(16)]) == Placement(16, 0.0)
    assert Placement(1, 1.0).whole([node(8, 1)]) is None
    assert Placement(8, 0.0).whole([node(8)]) is None


@pytest.mark.extended
def test_logical_gpus_are_shared_as_planned(tmp_path):
    """Ray with two logical GPUs: at a quarter each, eight runs are in flight at once, and never nine."""
    import ray
    from rich.console import Console

    from seedwise.search.spec.load import from_dict
    from seedwise.search.studies.launch import search

    specification = from_dict(
        {
            "name": "shared",
            "method": {"trainable": "tests.methods:Clocked", "space": "tests.methods:space"},
            "space": {"seconds": 0.5, "marker": str(tmp_path / "crowd")},
            "sampler": "random",
            "budget": {"runs": 20},
            "replicates": {"policy": "fixed", "n": 1, "confirm": {"top": 0}},
            "select": {"on": "metric", "metric": "value"},
            "resources": {"gpus_per_run": 0.25, "cpus_per_run": 1},
            "tracking": {"uri": "off"},
        }
    )
    (tmp_path / "crowd").mkdir()
    ray.shutdown()  # the cluster of other tests in this process
    ray.init("local", num_cpus=16, num_gpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        search(specification, tmp_path / "search", Console(file=io.StringIO()))
    finally:
        ray.shutdown()
    runs = [run.metrics for run in read(tmp_path / "search" / "ledger.jsonl").runs()]
    assert len(runs) == 20
    most = max(sum(other["began"] <= run["began"] < other["ended"] for other in runs) for run in runs)
    assert most == 8
