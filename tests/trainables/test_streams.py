import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedwise.trainables.streams import STREAMS, Streams


def test_a_seed_is_the_hash_of_its_names():
    digest = hashlib.sha256(b"7/2/order/5").digest()
    assert Streams(7, 2).seed("order", 5) == int.from_bytes(digest[:8], "big") >> 1


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.sampled_from(STREAMS)), unique=True, min_size=2))
def test_no_two_streams_share_a_seed(keys):
    seeds = {Streams(seed, replicate).seed(stream) for seed, replicate, stream in keys}
    assert len(seeds) == len(keys)


SEEDS, REPLICATES, PARTS = st.integers(0, 50), st.integers(0, 2000), st.lists(st.integers(0, 99), max_size=2)


@given(SEEDS, REPLICATES, st.sampled_from(STREAMS), st.sampled_from(STREAMS), PARTS)
def test_a_stream_that_varies_alone_leaves_the_others_at_replicate_0(seed, replicate, varied, stream, parts):
    expected = Streams(seed, replicate if stream == varied else 0).seed(stream, *parts)
    assert Streams(seed, replicate, varied).seed(stream, *parts) == expected


@given(SEEDS, REPLICATES, st.lists(st.sampled_from(STREAMS), max_size=2), st.sampled_from(STREAMS), PARTS)
def test_streams_that_are_fixed_are_those_of_replicate_0(seed, replicate, fixed, stream, parts):
    expected = Streams(seed, 0 if stream in fixed else replicate).seed(stream, *parts)
    assert Streams(seed, replicate, fixed=tuple(fixed)).seed(stream, *parts) == expected


@given(SEEDS, st.integers(1, 2000), st.none() | st.sampled_from(STREAMS))
def test_the_record_has_the_seeds_that_are_drawn(seed, replicate, varied):
    streams, first = Streams(seed, replicate, varied), Streams(seed, 0).all_seeds()
    recorded = streams.all_seeds()
    assert recorded == {stream: streams.seed(stream) for stream in STREAMS}
    differing = {stream for stream in STREAMS if recorded[stream] != first[stream]}
    assert differing == ({varied} if varied else set(STREAMS))


def test_an_unknown_stream_is_an_error():
    with pytest.raises(ValueError, match="the streams are head, order"):
        Streams(0, 0).seed("weather")
    with pytest.raises(ValueError, match="'weather' is not a stream"):
        Streams(0, 0, "weather")
    with pytest.raises(ValueError, match="'weather' is not a stream"):
        Streams(0, 0, fixed=("weather",))
