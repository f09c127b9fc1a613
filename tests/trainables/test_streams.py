import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainables.streams import STREAMS, Streams


def test_a_seed_is_the_hash_of_its_names():
    digest = hashlib.sha256(b"7/2/order/5").digest()
    assert Streams(7, 2).seed("order", 5) == int.from_bytes(digest[:8], "big") >> 1


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.sampled_from(STREAMS)), unique=True, min_size=2))
def test_no_two_streams_share_a_seed(keys):
    seeds = {Streams(seed, replicate).seed(stream) for seed, replicate, stream in keys}
    assert len(seeds) == len(keys)


def test_an_unknown_stream_is_an_error():
    with pytest.raises(ValueError, match="there are head, order"):
        Streams(0, 0).seed("weather")
