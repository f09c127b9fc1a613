"""Runs of the toy method: they count pieces, and need neither torch nor a GPU."""

import json
from dataclasses import dataclass

import numpy as np
from tokenizers import Tokenizer

from seedwise.trainables.inputs.files import path_of
from seedwise.trainables.method import Method
from seedwise.trainables.tasks.classification import scores
from seedwise.trainables.tasks.sources import Classification
from seedwise.trainables.toy.options import PlainOptions, ToyOptions


@dataclass(frozen=True)
class ToyInputs:
    labels: list[str]
    train: tuple[np.ndarray, np.ndarray]  # counts of pieces by sentence, and classes
    dev: dict[str, tuple[np.ndarray, np.ndarray]]  # by language


def counted(request, split, languages):
    """Counts of pieces, and classes, of a split by language."""
    data, tokenizer = Classification(request.task), Tokenizer.from_file(str(path_of(request.model) / "tokenizer.json"))
    ignored = set(path_of(request.inputs.ignored).read_text().split())
    by_language = {}
    for language in languages:
        texts, classes = data.split(language, split)
        counts = np.zeros((len(texts), tokenizer.get_vocab_size()))
        for row, text in zip(counts, texts, strict=True):
            words = (text.lower() if request.inputs.lower else text).split()
            kept = " ".join(word for word in words if word not in ignored)
            np.add.at(row, tokenizer.encode(kept, add_special_tokens=False).ids, 1)
        by_language[language] = counts, np.array(classes)
    return by_language


class Plain(Method):
    steps = 2
    options_type = PlainOptions

    @classmethod
    def prepare(cls, request, candidates):
        task = request.task
        train = counted(request, "train", [task.source])[task.source]
        return ToyInputs(Classification(task).labels, train, counted(request, "dev", task.languages()))

    @classmethod
    def prepare_test(cls, request):
        return counted(request, "test", request.task.languages())

    @classmethod
    def streams_used(cls, params):
        return ("order",)

    def __init__(self, inputs, params, streams, device):
        super().__init__(inputs, params, streams, device)
        self.options = self.options_type(**params)
        order = np.random.default_rng(streams.seed("order")).permutation(len(inputs.train[1]))
        self.order = order[: self.options.sentences]
        self.counts = np.zeros((len(inputs.labels), inputs.train[0].shape[1]))
        self.classes = np.zeros(len(inputs.labels))

    def step(self, number):
        """A step counts half of the sentences."""
        for row in np.array_split(self.order, self.steps)[number]:
            label = self.inputs.train[1][row]
            self.counts[label] += self.inputs.train[0][row]
            self.classes[label] += 1
        return self.on_all("dev", self.inputs.dev)

    def test(self, tests):
        return self.on_all("test", tests)

    def on_all(self, split, sets):
        metrics = {}
        for language, (counts, classes) in sets.items():
            of_language = scores(classes, self.predicted(counts), self.inputs.labels)
            of_language["known_words"] = float((counts[:, self.counts.sum(0) > 0].sum()) / counts.sum())
            metrics |= {f"{split}/{name}/{language}": value for name, value in of_language.items()}
        return metrics

    def predicted(self, counts):
        return np.full(len(counts), self.classes.argmax())

    def export(self, request, folder):
        (folder / "model").mkdir()
        (folder / "model" / "counts.json").write_text(json.dumps(self.counts.tolist()))
        return [folder / "model"]


class Toy(Plain):
    baselines = {"plain": Plain}  # noqa: RUF012
    options_type = ToyOptions

    def predicted(self, counts):
        smoothed = self.counts + self.options.smoothing
        return (counts @ np.log(smoothed / smoothed.sum(1, keepdims=True)).T).argmax(1)
