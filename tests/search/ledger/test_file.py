import json

import pytest

from seedwise.errors import RequestError
from seedwise.search.ledger.file import Ledger, read, scan
from seedwise.search.ledger.state import DONE, INTERRUPTED, RUNNING, replay

EVENTS = [
    {"event": "search", "name": "ä", "search_id": "1", "specification": {}},
    {"event": "ask", "config_id": "a", "params": {"k": 1}, "ask": 0, "suggested": {"k": 1}},
    {"event": "start", "config_id": "a", "replicate": 0, "phase": "search"},
    {"event": "step", "config_id": "a", "replicate": 0, "step": 1, "metrics": {"m": 0.25}},
    {"event": "start", "config_id": "a", "replicate": 1, "phase": "search"},
    {
        "event": "result",
        "config_id": "a",
        "replicate": 0,
        "phase": "search",
        "status": "done",
        "step": 2,
        "metrics": {"m": 0.5},
        "seconds": 1.5,
    },
]


def write(path, events=EVENTS):
    ledger = Ledger(path)
    for event in events:
        ledger.append(event)
    ledger.close()
    return path


def test_a_cut_at_every_byte_loses_only_the_torn_line(tmp_path):
    content = write(tmp_path / "whole.jsonl").read_bytes()
    lines = content.splitlines(keepends=True)
    for size in range(len(content) + 1):
        path = tmp_path / "cut.jsonl"
        path.write_bytes(content[:size])
        kept, total = 0, 0
        for line in lines:
            total += len(line)
            kept += total <= size
        assert replay(scan(path)[0]) == replay([json.loads(line) for line in lines[:kept]])
        ledger = Ledger(path)  # and writing continues after the last whole line
        ledger.append({"event": "end", "because": "test"})
        ledger.close()
        events, end = scan(path)
        assert [event["event"] for event in events] == [*(event["event"] for event in EVENTS[:kept]), "end"]
        assert end == path.stat().st_size


def test_what_ran_in_an_earlier_session_is_interrupted(tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    for event in EVENTS:
        ledger.append(event)
    for runs in (ledger.state.configurations["a"].runs, read(ledger.path).configurations["a"].runs):
        assert (runs[0].status, runs[1].status) == (DONE, RUNNING)
    ledger.close()
    assert read(ledger.path).configurations["a"].runs[1].status == INTERRUPTED  # no process holds it any more
    runs = replay(scan(write(ledger.path, [EVENTS[0]]))[0]).configurations["a"].runs
    assert (runs[0].status, runs[1].status) == (DONE, INTERRUPTED)
    assert runs[0].metrics == {"m": 0.5}
    assert runs[0].seconds == 1.5


def test_a_damaged_line_in_the_middle_is_named(tmp_path):
    path = write(tmp_path / "ledger.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"garbage\n", *lines[2:]]))
    with pytest.raises(RequestError, match=r"line 3: it is not JSON.*head -n 2"):
        read(path)


def test_only_one_process_may_write(tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    with pytest.raises(RequestError, match="another process is running this search"):
        Ledger(tmp_path / "ledger.jsonl")
    ledger.close()
    Ledger(tmp_path / "ledger.jsonl").close()
