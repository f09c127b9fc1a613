import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM

from seedwise.errors import RequestError
from seedwise.trainables.dcca.model import encoder_of, load_masked, masked_model
from seedwise.trainables.training.encoder import load_encoder
from seedwise.trainables.world import path
from tests.trainables.dcca.small import small_model

WORDS = "embeddings.word_embeddings.weight"


def saved(folder, kind, *, head):
    """A folder of a small model, with its tokenizer; without a head it has a pooler instead."""
    model = small_model(kind)
    if not head:
        model = AutoModel.from_config(model.config)
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((path("multilingual-encoder") / name).read_bytes())
    return model


@pytest.mark.parametrize("kind", ["bert", "roberta", "xlm-roberta", "camembert"])
@pytest.mark.parametrize("head", [True, False])
def test_what_is_trained_is_what_the_encoder_has_and_the_rest_stays(tmp_path, kind, head):
    """In some kinds the head comes before the encoder, and the shared table has the head's name."""
    before = saved(tmp_path, kind, head=head)
    loaded = load_masked(str(tmp_path))
    assert bool(loaded.drawn) == (not head)
    assert bool(loaded.rest) == (not head)
    assert all(name.startswith("pooler.") for name in loaded.rest)
    model = masked_model(loaded.model, seed=0)
    table = before.get_input_embeddings().weight
    assert torch.equal(model.get_input_embeddings().weight, table)
    assert torch.equal(model.get_output_embeddings().weight, table)
    with torch.no_grad():
        model.get_input_embeddings().weight += 1
    encoder = encoder_of(model, loaded.rest)
    np.testing.assert_array_equal(encoder.weights[WORDS], table.detach().numpy() + 1)
    again, _ = load_encoder(str(tmp_path))
    assert encoder.weights.keys() == again.weights.keys()
    others = [name for name in again.weights if name != WORDS]
    assert all(np.array_equal(encoder.weights[name], again.weights[name]) for name in others)


def test_an_existing_head_is_not_initialised_again():
    first, second = (masked_model(load_masked("world:multilingual-encoder").model, seed) for seed in (0, 1))
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    theirs = AutoModelForMaskedLM.from_pretrained(path("multilingual-encoder"))
    ids = torch.tensor([[2, 30, 31, 3]])
    torch.testing.assert_close(first.eval()(ids).logits, theirs(ids).logits)


def test_an_encoder_of_another_kind_is_refused(tmp_path):
    from transformers import DistilBertConfig, DistilBertForMaskedLM

    DistilBertForMaskedLM(DistilBertConfig(vocab_size=40, dim=8, n_layers=1, n_heads=2, hidden_dim=8)).save_pretrained(
        tmp_path
    )
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((path("multilingual-encoder") / name).read_bytes())
    with pytest.raises(
        RequestError, match=r"^model: .* parts after its encoder.* Name an encoder of the BERT or RoBERTa family"
    ):
        load_masked(str(tmp_path))
