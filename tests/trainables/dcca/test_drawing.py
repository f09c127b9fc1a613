import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedwise.trainables.dcca.pretraining import Draws


@given(count=st.integers(1, 60), size=st.integers(1, 20), passes=st.integers(0, 3))
def test_a_pass_has_every_example_once_except_an_incomplete_last_batch(count, size, passes):
    draws = Draws(count, size, lambda number: number)
    size = min(size, count)
    start = passes * (count // size)
    batches = [draws.rows(start + step) for step in range(count // size)]
    together = np.concatenate(batches)
    assert {len(batch) for batch in batches} == {size}
    assert len(set(together.tolist())) == len(together) > count - size


@given(steps=st.lists(st.integers(0, 40), min_size=1, max_size=6))
def test_the_examples_of_a_step_do_not_depend_on_earlier_steps(steps):
    draws = Draws(17, 4, lambda number: number)
    for step in steps:
        np.testing.assert_array_equal(draws.rows(step), Draws(17, 4, lambda number: number).rows(step))


def test_drawing_with_replacement_misses_a_third():
    draws = Draws(1000, 20, lambda number: number, anew=4)
    rows = {row for step in range(50) for row in draws.rows(step)}
    assert all(len(set(draws.rows(3)[start : start + 4])) == 4 for start in range(0, 20, 4))
    assert len(rows) == pytest.approx(633, abs=25)  # 1 - 1/e, as measured on the released code
