import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM, DistilBertConfig, DistilBertForMaskedLM

from seedwise.trainables.dcca.masking import IGNORED, Masking, head_of, mlm_loss
from seedwise.trainables.world import path
from tests.trainables.dcca.small import small_model

PAD, MASK, SPECIAL, VOCABULARY = 0, 4, (0, 1, 2, 3, 4), 300
MASKING = Masking(MASK, PAD, SPECIAL, VOCABULARY)


def blocks(seed, count=40, length=50):
    draw = np.random.default_rng(seed)
    ids = draw.integers(5, VOCABULARY, (count, length)).astype(np.int32)
    ids[:, 0], ids[:, -1] = 2, 3
    for row, end in enumerate(draw.integers(3, length, count)):
        ids[row, end:] = PAD
    return ids


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), rate=st.floats(0.05, 0.6))
def test_only_chosen_tokens_are_masked_and_all_others_stay(seed, rate):
    ids = blocks(seed)
    hidden, labels = MASKING(ids, rate, seed)
    targets = labels != IGNORED
    np.testing.assert_array_equal(labels[targets], ids[targets])
    np.testing.assert_array_equal(hidden[~targets], ids[~targets])
    assert not np.isin(ids[targets], SPECIAL).any()
    assert targets.any(1).all()  # every block has a target
    assert not np.isin(hidden[targets], [0, 1, 2, 3]).any()  # a mask or an ordinary token, never another special one


def test_the_masking_shares_are_those_of_bert():
    ids = np.full((200, 200), 7, dtype=np.int32)
    hidden, labels = MASKING(ids, 0.15, 0)
    targets = labels != IGNORED
    assert targets.mean() == pytest.approx(0.15, abs=0.01)
    assert (hidden[targets] == MASK).mean() == pytest.approx(0.8, abs=0.02)
    assert (hidden[targets] == 7).mean() == pytest.approx(0.1, abs=0.02)


def test_the_same_seed_hides_the_same_tokens():
    np.testing.assert_array_equal(MASKING(blocks(0), 0.15, 5)[0], MASKING(blocks(0), 0.15, 5)[0])
    assert (MASKING(blocks(0), 0.15, 5)[0] != MASKING(blocks(0), 0.15, 6)[0]).any()


def test_the_ids_are_the_tokenizers_own():
    tokenizer = AutoTokenizer.from_pretrained(path("multilingual-encoder"))
    masking = Masking.for_tokenizer(tokenizer)
    assert tokenizer.convert_ids_to_tokens([masking.mask, masking.pad]) == ["[MASK]", "[PAD]"]
    assert masking.vocabulary == len(tokenizer)


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_the_loss_is_transformers_own(kind):
    model = small_model(kind).eval()
    pad = model.config.pad_token_id
    ids = torch.from_numpy(np.where(blocks(1, 6, 12) == PAD, pad, blocks(1, 6, 12)).astype(np.int64)) % 40
    ids[:, 0] = 2
    labels = torch.where(torch.rand(ids.shape, generator=torch.Generator().manual_seed(0)) < 0.3, ids, IGNORED)
    theirs = model(input_ids=ids, attention_mask=(ids != pad).long(), labels=labels).loss
    ours = mlm_loss(model, ids, labels, pad) / (labels != IGNORED).sum()
    torch.testing.assert_close(ours, theirs)


def test_a_model_whose_head_is_in_several_parts_is_refused():
    model = DistilBertForMaskedLM(DistilBertConfig(vocab_size=20, dim=8, n_layers=1, n_heads=2, hidden_dim=8))
    with pytest.raises(ValueError, match="parts after its encoder, but one is expected"):
        head_of(model)
    assert head_of(BertForMaskedLM(BertConfig(vocab_size=20, hidden_size=8, num_attention_heads=2))) is not None
