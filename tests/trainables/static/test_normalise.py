"""Normalisation steps against plain loops, and what they do not change."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from seedwise.trainables.static.mapping import STEPS, normalise

TABLES = arrays.arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.integers(-9, 9))


def by_loops(table, steps):
    """All steps with sums over Python lists; rows of zeros are words without a vector."""
    rows = [list(map(float, row)) for row in table]
    present = [number for number, row in enumerate(rows) if any(row)]
    for step in steps:
        if step == "unit":
            for number in present:
                length = sum(value**2 for value in rows[number]) ** 0.5
                rows[number] = [value / (length or 1) for value in rows[number]]
            continue
        for column in range(table.shape[1]):
            values = [rows[number][column] for number in present]
            for number in present:
                rows[number][column] -= sum(values) / len(values)
    return np.array(rows)


@settings(max_examples=40)
@given(TABLES, st.lists(st.just("centre"), max_size=2))
def test_any_sequence_of_steps_is_that_of_loops(table, steps):
    np.testing.assert_allclose(normalise(table, ["unit", *steps]), by_loops(table, ["unit", *steps]), atol=1e-5)


@settings(max_examples=40)
@given(TABLES, st.permutations(list(STEPS)))
def test_rows_of_zeros_stay_zero_and_nothing_else_moves_for_them(table, steps):
    padded = np.concatenate([table, np.zeros((2, table.shape[1]), dtype=np.float32)])
    result = normalise(padded, steps)
    assert not result[-2:].any()
    np.testing.assert_array_equal(result[:-2], normalise(table, steps))


def test_without_steps_the_table_is_a_copy():
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    result = normalise(table, ())
    np.testing.assert_array_equal(result, table)
    assert not np.shares_memory(result, table)


@pytest.mark.parametrize("steps", [("unit", "centre", "unit"), ("unit", "centre")])
def test_vectors_with_a_common_mean_lose_it(steps):
    table = np.random.default_rng(0).normal(size=(500, 20)) + 3
    result = normalise(table, steps)
    assert np.abs(result.mean(axis=0)).max() < 0.02 < np.abs(normalise(table, ["unit"]).mean(axis=0)).min()
