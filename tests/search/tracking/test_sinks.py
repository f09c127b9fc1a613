"""The contract of a tracker, alone and with the follower, checked on a dictionary and on MLflow's database."""

import contextlib
import json
import os
import random
import threading
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest

from seedwise.process import environment
from seedwise.search.commands.main import main
from seedwise.search.tracking import follower
from seedwise.search.tracking.follower import Follower
from seedwise.search.tracking.mirror import Mirror
from seedwise.search.tracking.sink import TOP, Tracker
from seedwise.search.tracking.trackers import TRACKERS
from tests.search.tracking.random_ledgers import RandomLedger
from tests.search.tracking.stores import MemoryStore, MlflowStore

EVENTS = RandomLedger(0, configurations=2).events
RUN = next((event["config_id"], event["replicate"]) for event in EVENTS if event["event"] == "result")
both = pytest.mark.parametrize("kind", [MemoryStore, MlflowStore])
often = pytest.mark.parametrize(
    ("kind", "seed"), [*((MemoryStore, seed) for seed in range(100)), *((MlflowStore, seed) for seed in range(2))]
)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    """Small parts, so that a ledger has several, each with its own position."""
    monkeypatch.setattr(follower, "CHUNK", 1500)
    monkeypatch.setattr(follower, "PART", 3)
    monkeypatch.setattr(follower, "POLL", 0.0)


class Killed(BaseException):
    """The process was killed here."""


class Trouble(Exception):
    """The store is unreachable from here on."""


def write(folder: Path, events: list[dict]) -> None:
    (folder / "ledger.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


def tracker(store) -> Tracker:
    settings = partial(environment, {"STORE_SETTING": "1"})
    return Tracker("A store", "STORE_URI", store.open, lambda uri, base: uri, settings)


@contextlib.contextmanager
def following(folder: Path, store):
    """A follower that releases its lock at the end, as a process does."""
    with patch.dict(TRACKERS, store=tracker(store)):
        opened = Follower(folder, threading.Event(), "store://")
        try:
            yield opened
        finally:
            opened._lock.close()


def complete(folder: Path, store) -> None:
    with following(folder, store) as opened:
        opened._over.set()
        assert opened.follow(0), opened.trouble


def undisturbed(kind, database, folder: Path, events: list[dict]):
    store = kind(database)
    write(folder, events)
    complete(folder, store)
    return store


def after(changes: int, error: type[BaseException]):
    """An interruption at one change of the store, and at none of the later changes."""
    left = iter(range(changes))

    def interrupt() -> None:
        nonlocal left
        if left is not None and next(left, None) is None:
            left = None
            raise error

    return interrupt


def test_one_line_adds_a_tracker_which_the_scheme_of_an_address_chooses(tmp_path, capsys, monkeypatch):
    store, settings = MemoryStore(None), []
    store.open = lambda *arguments: settings.append(os.environ["STORE_SETTING"]) or MemoryStore.open(store, *arguments)
    write(tmp_path, EVENTS)
    with patch.dict(TRACKERS, store=tracker(store)):
        assert main(["track", str(tmp_path), "--uri", "store://shelf"]) == 0
        assert capsys.readouterr().out.endswith("is in store://shelf, complete.\n")
        assert store.nodes.keys() >= {TOP, RUN}
        assert settings == ["1"]
    assert "STORE_SETTING" not in os.environ
    monkeypatch.setattr(follower, "TRACK_GRACE", 0.0)
    store.open = lambda *arguments: 1 / 0
    with patch.dict(TRACKERS, store=tracker(store)):
        assert main(["track", str(tmp_path), "--uri", "store://shelf"]) == 1
    assert "A store at store://shelf cannot be written, trying again." in capsys.readouterr().out


@often
def test_whatever_interrupts_the_writing_the_store_holds_the_same_in_the_end(kind, seed, database, tmp_path):
    """Kills and outages within a write and between two, runs that are deleted, a store that is set back."""
    chance = random.Random(seed)
    events = RandomLedger(seed).events if kind is MemoryStore else EVENTS
    expected = undisturbed(kind, database, tmp_path, events).content()
    store, written, saved = kind(database), 1, None
    for _ in range(chance.randint(3, 8)):
        written = min(len(events), written + chance.randint(0, 40))
        write(tmp_path, events[:written])
        store.interrupt = after(chance.randint(0, 120), chance.choice([Killed, Trouble]))
        with following(tmp_path, store) as opened, contextlib.suppress(Killed):
            for _ in range(chance.randint(1, 12)):
                opened._advance(last=chance.random() < 0.2)
        store.interrupt = lambda: None
        known = sorted(store.open("", events[0], tmp_path).known(), key=str)
        if saved is not None and chance.random() < 0.2:
            store.set_back(saved)
        elif known and chance.random() < 0.3:
            store.delete(chance.choice(known))
        saved = store.save() if chance.random() < 0.4 else saved
    write(tmp_path, events)
    complete(tmp_path, store)
    assert store.content() == expected


@often
def test_the_position_moves_after_all_before_it_is_written(kind, seed, database, tmp_path):
    """At any interruption, continued by the same follower or by another."""
    chance, store, marks = random.Random(seed), kind(database), []
    events = RandomLedger(seed).events if kind is MemoryStore else EVENTS

    def watched(*arguments):
        sink = kind.open(store, *arguments)
        mark = sink.mark

        def checked(position: str) -> None:
            mirror, lines = Mirror(), int(position.split()[0])
            points = {(update.key, point) for update in mirror.take(events[:lines]) for point in update.points}
            assert {(mirror.nodes[key].name, *point) for key, point in points} <= store.points()
            assert mirror.nodes.keys() <= sink.known()
            marks.append(lines)
            mark(position)

        sink.mark = checked
        return sink

    store.open = watched
    write(tmp_path, events)
    for _ in range(3):
        store.interrupt = after(chance.randint(0, 150), chance.choice([Killed, Trouble]))
        with following(tmp_path, store) as opened, contextlib.suppress(Killed):
            for _ in range(4):
                opened._advance(last=False)
    store.interrupt = lambda: None
    complete(tmp_path, store)
    assert marks == sorted(marks)
    assert marks[-1] == len(events)
    assert len(set(marks)) > 3


@both
@pytest.mark.parametrize("key", [TOP, ("c0",), RUN])
def test_a_node_that_somebody_deleted_comes_back_with_all_that_it_had(kind, key, database, tmp_path):
    store = undisturbed(kind, database, tmp_path, EVENTS)
    expected = store.content()
    store.delete(key)
    assert store.content() != expected
    complete(tmp_path, store)
    assert store.content() == expected


@both
def test_a_node_that_was_restored_in_part_is_not_taken_for_whole(kind, database, tmp_path, monkeypatch):
    """The follower is killed while it restores the node: the store then has all nodes and its old position."""
    monkeypatch.setattr(follower, "CHUNK", 1 << 20)
    monkeypatch.setattr(follower, "PART", 1)
    store = undisturbed(kind, database, tmp_path, EVENTS)
    expected = store.content()
    store.delete(RUN)

    def opened(*arguments):
        sink = kind.open(store, *arguments)
        write = sink.write

        def writing(updates, nodes) -> None:
            if updates[0].key == RUN:
                store.interrupt = after(5, Killed)
            write(updates, nodes)

        sink.write = writing
        return sink

    store.open = opened
    with pytest.raises(Killed):
        complete(tmp_path, store)
    del store.open
    assert RUN in store.open("", EVENTS[0], tmp_path).known()
    assert store.content() != expected
    complete(tmp_path, store)
    assert store.content() == expected


@both
@pytest.mark.parametrize("deleted", [False, True])
def test_a_store_that_loses_something_under_a_follower_is_completed(kind, deleted, database, tmp_path):
    """It is set back to an older state, or a run is deleted and the position stays."""
    expected = undisturbed(kind, database, tmp_path, EVENTS).content()
    store = kind(database)
    with following(tmp_path, store) as opened:
        opened._advance(last=False)
        saved = store.save()
        while opened._behind:
            opened._advance(last=False)
        assert not opened._attempt(lambda: 1 / 0)  # the store is unreachable
        if deleted:
            store.delete(RUN)
        else:
            store.set_back(saved)
        opened._over.set()
        assert opened.follow(0)
    assert store.content() == expected


@both
def test_writing_again_changes_nothing(kind, database, tmp_path):
    """All updates, in another sink and with the parts in another order."""
    store, mirror = kind(database), Mirror()
    updates = mirror.take(EVENTS)
    for _ in range(2):
        sink = store.open("", EVENTS[0], tmp_path)
        sink.write(updates, mirror.nodes)
        expected = store.content()
        sink.write(updates[:5], mirror.nodes)
        sink.write(updates[5:], mirror.nodes)
        assert store.content() == expected
    assert store.points() == {(mirror.nodes[update.key].name, *point) for update in updates for point in update.points}


@both
def test_a_sink_says_what_the_store_has(kind, database, tmp_path):
    store, mirror = kind(database), Mirror()
    updates = {update.key: update for update in mirror.take(EVENTS)}
    sink = store.open("", EVENTS[0], tmp_path)
    assert (sink.position, sink.known()) == ("", frozenset())
    run = next(key for key in updates if len(key) == 2)
    sink.write([updates[run]], mirror.nodes)
    assert sink.known() == {TOP, run[:1], run}  # with its parents
    assert sink.position == ""
    sink.mark("10 lines")
    for opened in (sink, store.open("", EVENTS[0], tmp_path)):
        assert (opened.position, opened.known()) == ("10 lines", {TOP, run[:1], run})
    store.delete(run)
    again = store.open("", EVENTS[0], tmp_path)
    assert again.known() == {TOP, run[:1]}
    again.mark("")
    assert store.open("", EVENTS[0], tmp_path).position == ""
