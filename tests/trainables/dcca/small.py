"""Small random masked language models, and small sets of words, for tests."""

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForMaskedLM

from seedwise.trainables.dcca.words import StaticVectors
from seedwise.trainables.inputs.text import Encoded

SIZES = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 32}


def small_model(kind="bert", dropout=0.0, seed=0):
    torch.manual_seed(seed)
    pad = 1 if kind == "xlm-roberta" else 0
    config = AutoConfig.for_model(
        kind, **SIZES, pad_token_id=pad, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout
    )
    return AutoModelForMaskedLM.from_config(config)


def small_words(count=64, width=12, pad=0, seed=0):
    """Random words of one to six pieces between two special tokens, and random static vectors of unit length."""
    draw = np.random.default_rng(seed)
    lengths = draw.integers(3, 9, count)
    ids = np.full((count, 8), pad, dtype=np.int32)
    for row, length in enumerate(lengths):
        ids[row, :length] = [2, *draw.integers(5, 40, length - 2), 3]
    table = draw.normal(size=(count, width)).astype(np.float32)
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    rows = np.arange(count)
    half = count // 2
    return StaticVectors(Encoded(ids, lengths, np.zeros(count)), table, rows, {"a": rows[:half]}, {"a": rows[half:]})
