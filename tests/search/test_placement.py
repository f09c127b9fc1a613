import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.errors import RequestError
from search.placement import Placement
from trainables.device import memory_share


@pytest.mark.parametrize(
    ("per_run", "cpus", "gpus", "expected"),
    [
        ("auto", 2, 0, (0.0, 2)),
        ("auto", 8, 2, (1.0, 2)),
        (0.25, 8, 1, (0.25, 4)),
        (0.4, 8, 2, (0.4, 4)),  # two on each GPU; the fifths left over are no place for a fifth run
        (0.1, 4, 1, (0.1, 4)),  # CPUs bound it
        (2, 16, 5, (2, 2)),
        (0, 3, 4, (0, 3)),
    ],
)
def test_slots(per_run, cpus, gpus, expected):
    placement = Placement.of({"gpus_per_run": per_run, "cpus_per_run": 1}, cpus, gpus)
    assert (placement.gpus, placement.slots) == expected


@given(st.floats(0.05, 1), st.integers(1, 64), st.integers(1, 8))
def test_no_gpu_is_asked_for_more_than_it_has(per_run, cpus, gpus):
    slots = Placement.of({"gpus_per_run": per_run, "cpus_per_run": 1}, cpus, gpus).slots
    on_one_gpu = -(-slots // gpus)
    assert on_one_gpu * per_run <= 1 + 1e-6
    assert memory_share(per_run) * on_one_gpu <= 1 + 1e-6


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ({"gpus_per_run": "auto", "cpus_per_run": 9}, "resources.cpus_per_run: 9, but there are 4 CPUs"),
        ({"gpus_per_run": 0.5, "cpus_per_run": 1}, "resources.gpus_per_run: 0.5, but there are 0 GPUs"),
    ],
)
def test_what_does_not_fit_is_said(resources, message):
    with pytest.raises(RequestError, match=message):
        Placement.of(resources, 4, 0)


def test_logical_gpus_are_shared_as_planned(tmp_path):
    """Ray with one logical GPU: at a quarter each, four runs are in flight at once, and no more."""
    import ray
    from rich.console import Console

    from search.launch import search
    from search.specification import from_dict

    specification = from_dict(
        {
            "name": "shared",
            "method": {"trainable": "tests.methods:Quadratic", "space": "tests.methods:space"},
            "space": {"seconds": 0.2},
            "sampler": "random",
            "budget": {"runs": 12},
            "replicates": {"policy": "fixed", "n": 1, "confirm": {"top": 0}},
            "select": {"on": "metric", "metric": "value"},
            "resources": {"gpus_per_run": 0.25, "cpus_per_run": 1},
            "tracking": {"uri": "off"},
        }
    )
    ray.init(num_cpus=8, num_gpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        search(specification, tmp_path / "search", Console(file=io.StringIO()))
    finally:
        ray.shutdown()
    running = most = 0
    for line in (tmp_path / "search" / "ledger.jsonl").read_text().splitlines():
        running += ('"event": "start"' in line) - ('"event": "result"' in line)
        most = max(most, running)
    assert most == 4
