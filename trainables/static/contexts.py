"""A frozen encoder that reads sentences, and the vectors from which their words are predicted."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModel

from seedwise.errors import RequestError
from seedwise.trainables.inputs.pieces import tokenise, word_numbers
from seedwise.trainables.static.options import ExtractOptions
from seedwise.trainables.training.encoder import Encoder, config_of, longest_input

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
BATCH = 32  # sentences of similar length per forward pass: a third is padding; with 128 in any order, two thirds are


class FrozenEncoder:
    """The lowest `options.layer` blocks of an encoder, without dropout. A final norm is applied if there is one."""

    def __init__(self, name: str, encoder: Encoder, tokenizer: Any, options: ExtractOptions, device: torch.device):
        if not tokenizer.is_fast:
            raise RequestError("model", f"{name}: its tokenizer reports no offsets", "Name another encoder.")
        config = config_of(encoder)
        if options.layer > config.num_hidden_layers:
            layers = config.num_hidden_layers
            raise RequestError(
                "layer", f"{options.layer}, but {name} has {layers} layers", f"Write a number from 1 to {layers}."
            )
        config.num_hidden_layers = options.layer
        self.model = AutoModel.from_config(config)
        weights = {key: torch.from_numpy(value) for key, value in encoder.weights.items()}
        missing = [key for key in self.model.load_state_dict(weights, strict=False).missing_keys if "pooler" not in key]
        if missing:
            raise RequestError("model", f"{name} has no weights for {missing[0]}", "Name a complete encoder.")
        self.model.to(device, DTYPES[options.precision]).eval().requires_grad_(False)
        self.tokenizer, self.context, self.device = tokenizer, options.context, device
        self.max_length = min(options.max_length, longest_input(encoder, tokenizer))
        self.dimension = config.hidden_size

    def contexts(self, sentences: list[list[str]], sentence: np.ndarray, word: np.ndarray) -> tuple[Tensor, np.ndarray]:
        """The context vectors (n, d), in float32, of some words, and which of the words have a context.

        A word is given by its sentence's number, ascending, and its position in the sentence. Sentences should be
        ordered by length. A word has no context if its sentence has nothing else. Words beyond `max_length` are not
        read; their context is the part of the sentence that is read.
        """
        contexts, usable = [], []
        for first in range(0, len(sentences), BATCH):
            start, end = np.searchsorted(sentence, [first, first + BATCH])
            part = sentences[first : first + BATCH]
            vectors, has_context = self._read(part, sentence[start:end] - first, word[start:end])
            contexts.append(vectors)
            usable.append(has_context)
        return torch.cat(contexts), np.concatenate(usable)

    def _read(self, sentences: list[list[str]], sentence: np.ndarray, word: np.ndarray) -> tuple[Tensor, np.ndarray]:
        """`contexts` for the sentences of a single forward pass."""
        batch = tokenise(self.tokenizer, [(" ".join(words),) for words in sentences], self.max_length)
        counted = np.array(batch["attention_mask"], dtype=bool)[sentence]
        if self.context == "without":
            numbers = [
                word_numbers(batch.sequence_ids(row), batch["offset_mapping"][row], (words,))
                for row, words in enumerate(sentences)
            ]
            word_of = np.stack(numbers)[sentence]
            lengths = np.array([len(words) for words in sentences])[sentence]
            counted &= (word_of < lengths[:, None]) & (word_of != word[:, None])  # special tokens come after all words
        usable = counted.any(1)
        sentence, counted = sentence[usable], counted[usable]
        # A product per sentence: (its targets, pieces) x (pieces, d). `slot` numbers the targets of a sentence.
        slot = np.arange(len(sentence)) - np.searchsorted(sentence, sentence)
        weights = np.zeros((len(sentences), slot.max(initial=0) + 1, counted.shape[1]), dtype=np.float32)
        weights[sentence, slot] = counted / counted.sum(1, keepdims=True)
        names = ("input_ids", "attention_mask", "token_type_ids")
        inputs = {name: torch.tensor(batch[name], device=self.device) for name in names if name in batch}
        with torch.no_grad():
            states = self.model(**inputs).last_hidden_state.float()
            means = torch.from_numpy(weights).to(self.device) @ states
        return means[torch.from_numpy(sentence), torch.from_numpy(slot)], usable
