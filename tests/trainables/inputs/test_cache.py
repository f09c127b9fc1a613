import hashlib
import json
import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest

from seedwise.trainables.inputs.cache import cached, content_hash, pack, unpack


class Maker:
    """Makes the same arrays each time and counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "none": np.zeros(0, np.uint8)}


def entry_of(cache: Path, kind: str) -> Path:
    (entry,) = (cache / kind).iterdir()
    return entry


def test_arrays_are_made_once_for_a_key_and_mapped_read_only(cache):
    make = Maker()
    first, second = (cached("kind", {"x": 1}, make) for _ in range(2))
    assert make.calls == 1
    for arrays in (first, second):
        np.testing.assert_array_equal(arrays["a"], [[0, 1, 2], [3, 4, 5]])
        assert arrays["none"].size == 0
        assert isinstance(arrays["a"], np.memmap)
        with pytest.raises(ValueError, match="read-only"):
            arrays["a"][0, 0] = 7
    expected = hashlib.sha256(b'str 8 {"x": 1}').hexdigest()[:32]
    assert entry_of(cache, "kind").name == expected
    cached("kind", {"x": 2}, make)
    assert make.calls == 2


@pytest.mark.parametrize("damage", ["cut", "missing", "index", "no index"])
def test_a_damaged_entry_is_made_again(cache, damage):
    make = Maker()
    cached("kind", {"x": 1}, make)
    entry = entry_of(cache, "kind")
    if damage == "cut":
        os.truncate(entry / "a.npy", (entry / "a.npy").stat().st_size - 1)
    elif damage == "missing":
        (entry / "none.npy").unlink()
    elif damage == "index":
        (entry / "arrays.json").write_text(json.dumps([1]))
    else:
        (entry / "arrays.json").unlink()
    for _ in range(2):
        np.testing.assert_array_equal(cached("kind", {"x": 1}, make)["a"][1], [3, 4, 5])
    assert make.calls == 2
    assert entry_of(cache, "kind") == entry  # nothing temporary is left


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SEEDWISE_CACHE", str(tmp_path / "file"))
    make = Maker()
    arrays = [cached("kind", {"x": 1}, make)["a"] for _ in range(2)]
    assert make.calls == 2
    np.testing.assert_array_equal(arrays[0], arrays[1])
    assert not arrays[0].flags.writeable


def test_the_loser_of_a_race_takes_the_winners_entry(cache):
    def slow():
        cached("kind", {"x": 1}, lambda: {"a": np.array([1])})  # another process was faster
        return {"a": np.array([2])}

    assert cached("kind", {"x": 1}, slow)["a"] == 1
    assert [path.name for path in entry_of(cache, "kind").iterdir() if path.suffix == ".npy"] == ["a.npy"]


def _sum(number: int) -> float:
    return float(cached("kind", {"n": 1}, lambda: {"a": np.full(1000, 3.0)})["a"].sum())


def test_many_processes_at_once_get_the_same(cache):
    # Spawned: a forked process would inherit the locks and signal handlers of Ray and torch, and may hang.
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        assert pool.map(_sum, range(16)) == [3000.0] * 16
    entry_of(cache, "kind")


def test_an_error_of_make_is_raised_and_leaves_no_entry(cache):
    def fail():
        raise OSError("cut")

    with pytest.raises(OSError, match="cut"):
        cached("kind", {}, fail)
    assert not (cache / "kind").exists()


def test_content_hash_differs_for_different_parts(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"ab")
    same = np.arange(4, dtype=np.int32)
    parts = [
        ("ab",),
        ("a", "b"),
        ("", "ab"),
        (b"ab",),
        (path,),
        (same,),
        (same.reshape(2, 2),),
        (same.astype(np.int64),),
        (same.view(np.float32),),
    ]
    assert len({content_hash(*part) for part in parts}) == len(parts)
    assert content_hash(same) == content_hash(np.arange(8, dtype=np.int32)[::2] // 2)  # values count, not memory
    before = content_hash(path)
    path.write_bytes(b"ac")
    assert content_hash(path) != before


@pytest.mark.parametrize("words", [[], ["a"], ["a", "", "ß b", "\u2028"]])
def test_words_survive_packing(words):
    assert unpack(pack(words)) == words
