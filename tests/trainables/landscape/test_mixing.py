"""Parameters written in place, against newly loaded models and arithmetic by hand."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from seedwise.trainables.landscape.jobs import ALL, ENCODER, HEAD
from seedwise.trainables.landscape.mixing import Parameters


class Small(nn.Module):
    """An encoder with a frozen table, a norm, buffers of integers, numbers and rows of numbers, and a head."""

    def __init__(self, seed: int = 0):
        super().__init__()
        torch.manual_seed(seed)
        self.table = nn.Embedding(5, 3)
        self.table.weight.requires_grad_(False)
        self.body = nn.Linear(3, 7)
        self.norm = nn.BatchNorm1d(7)
        self.norm.running_mean.normal_()
        self.register_buffer("places", torch.arange(4))
        self.register_buffer("waves", torch.randn(4, 3))
        self.head = nn.Linear(7, 2)

    def forward(self, ids):
        return self.head(self.norm(self.body(self.table(ids))))


HEADS = {"head.weight", "head.bias"}
IDS = torch.tensor([0, 1, 2, 3, 4, 2])


def moved(seed: int) -> Small:
    """A model that differs from `Small(0)` in everything but the frozen table."""
    model, first = Small(seed), Small(0)
    model.table.load_state_dict(first.table.state_dict())
    return model.eval()


def of(model) -> dict[str, np.ndarray]:
    return Parameters(copy.deepcopy(model), HEADS).named()


def output(model) -> torch.Tensor:
    with torch.no_grad():
        return model(IDS).clone()


@given(st.floats(-0.5, 1.5), st.floats(-0.5, 1.5))
def test_a_mixture_is_the_model_that_loads_the_mixed_state_dict(first, second):
    model_a, model_b, model_c = moved(0), moved(1), moved(2)
    weights = [1 - first - second, first, second]
    states = [model.state_dict() for model in (model_a, model_b, model_c)]
    mixed = {
        name: sum(weight * state[name] for weight, state in zip(weights, states, strict=True))
        if states[0][name].is_floating_point() and name != "table.weight"
        else states[0][name]
        for name in states[0]
    }
    expected = moved(0)
    expected.load_state_dict(mixed)
    model = moved(0)
    parameters = Parameters(model, HEADS)
    parameters.write(weights, [parameters.vector(of(other)) for other in (model_a, model_b, model_c)])
    for name, value in expected.state_dict().items():
        torch.testing.assert_close(model.state_dict()[name], value, atol=1e-5, rtol=1e-5)


def test_a_model_that_weighs_1_comes_out_to_the_last_bit_wherever_one_was_before():
    model, other = moved(0), moved(1)
    own, theirs = output(model), output(other)
    parameters = Parameters(model, HEADS)
    vectors = [parameters.vector(of(moved_model)) for moved_model in (moved(0), other, moved(2))]
    for weights in ([0.3, 0.3, 0.4], [0.0, 1.0, 0.0]):
        parameters.write(weights, vectors)
    assert torch.equal(output(model), theirs)
    parameters.write([1.0, 0.0, 0.0], vectors)
    assert torch.equal(output(model), own)


def test_integer_buffers_and_frozen_parameters_are_left_alone_and_nothing_is_allocated_anew():
    model, table, places = moved(0), moved(0).table.weight.clone(), moved(0).places.clone()
    parameters = Parameters(model, HEADS)
    before = {name: (parameter.data_ptr(), id(parameter)) for name, parameter in model.named_parameters()}
    vectors = [parameters.vector(of(moved_model)) for moved_model in (moved(1), moved(2))]
    parameters.write([0.25, 0.75], vectors)
    assert {name: (parameter.data_ptr(), id(parameter)) for name, parameter in model.named_parameters()} == before
    assert torch.equal(model.table.weight, table)
    assert torch.equal(model.places, places)
    assert model.norm.num_batches_tracked.dtype == torch.int64
    assert set(parameters.names) == {
        name for name in model.state_dict() if name not in ("table.weight", "places", "norm.num_batches_tracked")
    }


def test_encoder_and_head_move_apart():
    model, other = moved(0), moved(1)
    parameters = Parameters(model, HEADS)
    own, theirs = parameters.vector(of(moved(0))), parameters.vector(of(other))
    for part, inside in ((ENCODER, lambda name: name not in HEADS), (HEAD, lambda name: name in HEADS)):
        parameters.write([1.0], [own])
        parameters.write([0.0, 1.0], [own, theirs], part)
        for name in parameters.names:
            wanted = other if inside(name) else moved(0)
            assert torch.equal(model.state_dict()[name], wanted.state_dict()[name]), (part, name)


def test_half_precision_becomes_float32():
    model = moved(0).half()
    parameters = Parameters(model, HEADS)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert parameters.values.dtype == torch.float32


def test_parameters_of_another_model_are_refused():
    parameters = Parameters(moved(0), HEADS)
    with pytest.raises(ValueError, match=r"another model: \['head.bias'\]"):
        parameters.vector({name: value for name, value in of(moved(1)).items() if name != "head.bias"})


def test_a_random_direction_has_filters_as_long_as_those_it_is_around():
    parameters = Parameters(moved(0), HEADS)
    around = parameters.vector(of(moved(1)))
    direction = parameters.direction(around, seed=7)
    weights, steps = parameters.views(around), parameters.views(direction)
    for name in ("body.weight", "head.weight"):
        for row, step in zip(weights[name].numpy(), steps[name].numpy(), strict=True):
            assert np.linalg.norm(step) == pytest.approx(np.linalg.norm(row), rel=1e-5)
            assert abs(step @ row) < 0.999 * (row @ row)  # another direction, not the filter itself
    for name in ("body.bias", "norm.weight", "norm.bias", "head.bias", "norm.running_mean", "waves"):
        assert not steps[name].any()


def test_a_direction_follows_from_its_seed():
    parameters = Parameters(moved(0), HEADS)
    around = parameters.vector(of(moved(1)))
    assert torch.equal(parameters.direction(around, seed=1), parameters.direction(around, seed=1))
    assert not torch.equal(parameters.direction(around, seed=1), parameters.direction(around, seed=2))


def test_tensors_begin_where_torch_would_put_them():
    model = moved(0)
    parameters = Parameters(model, HEADS)
    assert {parameter.data_ptr() % 64 for parameter in model.parameters() if parameter.requires_grad} == {0}
    assert parameters.parts[ALL] == slice(None)
