import gzip
from collections import Counter

import numpy as np
import pytest
from transformers import AutoTokenizer

from seedwise.errors import RequestError
from seedwise.trainables.dcca.blocks import DEV_BLOCKS, HELD_OUT, Reservoir, held_out, read_blocks
from seedwise.trainables.world import path

TOKENIZER = AutoTokenizer.from_pretrained(path("multilingual-encoder"))


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEDWISE_CACHE", str(tmp_path / "cache"))


def text_of(block):
    return TOKENIZER.decode(block, skip_special_tokens=True).split()


def test_blocks_are_the_text_in_its_order_and_held_out_sentences_are_apart():
    file = path("text/qor.txt.gz")
    parts = read_blocks(file, "inputs.text.qor", TOKENIZER, length=64, limit=10_000)
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    pieces = {True: [], False: []}
    for line in lines:
        pieces[held_out(line.strip(), HELD_OUT)] += TOKENIZER(line, add_special_tokens=False)["input_ids"]
    for apart, blocks in ((False, parts["train"]), (True, parts["dev"])):
        assert blocks[:, 1:-1].reshape(-1).tolist() == pieces[apart][: blocks.shape[0] * 62]
        assert len(pieces[apart]) - blocks.shape[0] * 62 < 62  # nothing but the last part is missing
        assert set(blocks[:, 0]) == {TOKENIZER.cls_token_id}
        assert set(blocks[:, -1]) == {TOKENIZER.sep_token_id}


def test_of_a_long_text_a_fixed_number_is_kept_and_the_same_one_again():
    file = path("text/qel.txt.gz")
    parts = read_blocks(file, "inputs.text.qel", TOKENIZER, length=32, limit=20)
    assert parts["train"].shape == (20, 32)
    assert len(parts["dev"]) <= DEV_BLOCKS
    again = read_blocks(file, "inputs.text.qel", TOKENIZER, length=32, limit=20)  # from the cache
    np.testing.assert_array_equal(parts["train"], again["train"])


def test_every_block_has_the_same_chance_to_be_kept():
    counts = Counter()
    for seed in range(400):
        reservoir = Reservoir(5, 3, TOKENIZER)
        reservoir.draw = np.random.default_rng(seed)
        for number in range(20):
            reservoir.add([100 + number])
        counts.update(int(block[1]) for block in reservoir.array())
        assert len(reservoir.kept) == 5
    assert set(counts) == set(range(100, 120))
    assert max(abs(count - 100) for count in counts.values()) < 35  # 400 x 5 / 20, four standard deviations


def test_a_text_that_fills_no_block_makes_a_padded_one_and_an_empty_one_is_refused(tmp_path):
    apart = next(f"ba {number}" for number in range(1000) if held_out(f"ba {number}", HELD_OUT))
    (tmp_path / "short.txt").write_text(f"dai se\n{apart}\n")
    parts = read_blocks(tmp_path / "short.txt", "inputs.text.qel", TOKENIZER, length=64, limit=10)
    assert [len(parts["train"]), len(parts["dev"])] == [1, 1]
    assert text_of(parts["train"][0]) == ["dai", "se"]
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(RequestError, match=r"^inputs\.text\.qel: .*empty\.txt: it has no sentences to train on"):
        read_blocks(tmp_path / "empty.txt", "inputs.text.qel", TOKENIZER, length=64, limit=10)
