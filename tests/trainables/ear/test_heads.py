import pytest
import torch
from torch import nn
from transformers import AutoConfig, AutoModelForSequenceClassification

from seedwise.errors import RequestError
from seedwise.trainables.ear.heads import set_head
from seedwise.trainables.training.encoder import Encoder, initialise

SIZES = {
    "vocab_size": 30,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 30,
    "num_labels": 3,
}
BATCH = {
    "input_ids": torch.tensor([[2, 7, 8, 9, 3], [2, 5, 3, 0, 0]]),
    "attention_mask": torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]),
}


def classifier(kind, head="standard", **changes):
    """A classifier with random weights; the encoder has the same weights for every head."""
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, **{**SIZES, **changes}, pad_token_id=0, initializer_range=0.3)
    model = AutoModelForSequenceClassification.from_config(config)
    body = {name: value.numpy().copy() for name, value in model.base_model.state_dict().items() if "pooler" not in name}
    set_head(model, head)
    initialise(model, Encoder({}, body), 0)
    return model


def undropped(kind, head):
    return classifier(kind, head, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("kind", ["bert", "xlm-roberta", "electra"])
def test_a_linear_head_is_equation_3_and_nothing_else(kind, training):
    """In training mode too, since the head has no dropout."""
    changes = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "classifier_dropout": 0.5}
    model = classifier(kind, "linear", **changes).train(training)
    states = model.base_model(**BATCH).last_hidden_state[:, 0].tolist()
    linear = model.classifier if isinstance(model.classifier, nn.Linear) else model.classifier[1]
    with torch.no_grad():
        linear.bias += torch.tensor([1.0, -2.0, 3.0])
    expected = [
        [sum(w * h for w, h in zip(row, state, strict=True)) for row in linear.weight.tolist()] for state in states
    ]
    torch.testing.assert_close(model(**BATCH).logits, torch.tensor(expected) + linear.bias, atol=1e-5, rtol=1e-5)
    rest = {name for name, _ in model.named_parameters() if not name.startswith(model.base_model_prefix + ".")}
    assert len(rest) == 2  # W and b: no pooler, no dense layer
    assert not any("pooler" in name for name, _ in model.named_parameters())


def dropouts(model):
    """The rates of all dropouts outside the encoder's layers, in forward order."""
    rates = []

    def note(module, arguments, output):
        rates.append(module.p)

    inside = {*model.base_model.embeddings.modules(), *model.base_model.encoder.modules()}
    for module in model.modules():
        if isinstance(module, nn.Dropout) and module not in inside:
            module.register_forward_hook(note)
    model.train()(**BATCH)
    return rates


@pytest.mark.parametrize(
    ("kind", "head", "expected"),
    [
        ("bert", "standard", [0.2]),
        ("bert", "released", [0.2]),
        ("bert", "linear", []),
        ("xlm-roberta", "standard", [0.2, 0.2]),
        ("xlm-roberta", "released", [0.2, 0.2, 0.2]),
        ("xlm-roberta", "linear", []),
    ],
)
def test_the_released_head_has_one_dropout_more_for_xlm_r_and_none_for_bert(kind, head, expected):
    assert dropouts(classifier(kind, head, hidden_dropout_prob=0.2)) == expected


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_without_dropout_the_released_head_is_transformers_own(kind):
    own, released = undropped(kind, "standard").train(), undropped(kind, "released").train()
    released.load_state_dict(dict(zip(released.state_dict(), own.state_dict().values(), strict=True)))
    assert torch.equal(own(**BATCH).logits, released(**BATCH).logits)


def test_the_released_dropout_drops_all_states_before_the_head():
    model = classifier("xlm-roberta", "released", hidden_dropout_prob=0.4)
    assert model.classifier[0].p == 0.4
    inputs = []
    model.classifier[1].register_forward_hook(lambda module, arguments, output: inputs.append(arguments[0]))
    model.train()(**BATCH)
    assert 0.2 < (inputs[0] == 0).float().mean() < 0.6
    assert inputs[0].shape == (2, 5, 16)


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_the_standard_head_is_left_as_it_is(kind):
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, **SIZES, pad_token_id=0)
    model = AutoModelForSequenceClassification.from_config(config)
    before = str(model)
    set_head(model, "standard")
    assert str(model) == before


@pytest.mark.parametrize("head", ["linear", "released"])
@pytest.mark.parametrize("kind", ["distilbert", "modernbert", "deberta-v2"])
def test_other_kinds_of_encoders_have_their_standard_head_only(kind, head):
    sizes = {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 16} if kind == "distilbert" else SIZES
    sizes = sizes | {"bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2, "pad_token_id": 0}
    model = AutoModelForSequenceClassification.from_config(AutoConfig.for_model(kind, **sizes))
    set_head(model, "standard")
    with pytest.raises(RequestError, match=rf"space.head: '{head}' .* not for {kind}. Write standard."):
        set_head(model, head)
