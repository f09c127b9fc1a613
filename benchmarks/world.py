"""Is the embedded world a fair small image of the real problem? `python -m benchmarks.world`, a quarter of an hour.

Prints macro-F1 on the dev sets (mean and standard deviation over replicates) for a few configurations of each method,
next to the constant classifier, and how far configurations are apart in units of the seeds' standard deviation.
Stitching and EAR are the project's own; DCCA is a compact version, just enough to show that its hyperparameters matter
here.
"""

import argparse
import gzip
import os
import time
from collections.abc import Callable, Iterator

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is downloaded; set before transformers is imported

import numpy as np
import torch
import transformers
from torch.nn.functional import cross_entropy, normalize
from transformers import AutoModelForMaskedLM, AutoModelForSequenceClassification, AutoTokenizer

from seedwise.search.spec.load import from_dict, read
from seedwise.search.spec.schema import Specification
from seedwise.trainables.ear.prepare import EarInputs
from seedwise.trainables.ear.trainable import Ear
from seedwise.trainables.inputs.lexicons import read_lexicon
from seedwise.trainables.inputs.vectors import read_vectors
from seedwise.trainables.method import Method
from seedwise.trainables.request import Task
from seedwise.trainables.stitching.prepare import StitchingInputs
from seedwise.trainables.stitching.trainable import Stitching
from seedwise.trainables.streams import Streams
from seedwise.trainables.tasks.classification import macro_f1
from seedwise.trainables.tasks.sources import Classification
from seedwise.trainables.training.encoder import initialise, skeleton
from seedwise.trainables.training.learner import Learner
from seedwise.trainables.training.options import TrainingOptions
from seedwise.trainables.world import SOURCE, TARGETS, path
from tools.world.encoders import mask, masked_loss, pad

CPU = torch.device("cpu")
TOPICS = Classification(Task(name="sib200", data="world:topics", source=SOURCE, targets=list(TARGETS)))
LABELS = TOPICS.labels
STITCHING_TRAINING = {"epochs": 6, "lr": 2e-3}
EPOCHS, LEARNING_RATE, BATCH = 4, 1e-3, 32  # of fine-tuning the multilingual encoder
OUTSIDE = ("original", "uniform")  # reference rows: counted in no ratio, which they would flatter
ALL_ROWS = 200_000  # more than any of the vector files has
Scores = dict[str, float]  # language -> macro-F1 on its dev set

STITCHING = {
    "k=1": {"k": 1},
    "k=5 softmax tau=.05": {"k": 5, "weighting": "softmax", "tau": 0.05},
    "k=10 softmax tau=.1": {"k": 10, "weighting": "softmax", "tau": 0.1},
    "k=10 sparsemax tau=.3": {"k": 10, "weighting": "sparsemax", "tau": 0.3},
    "k=50 standard": {"k": 50, "weighting": "standard"},
    "k=all standard": {"k": "all", "weighting": "standard"},
    "uniform: k=all softmax tau=1": {"k": "all", "weighting": "softmax", "tau": 1.0},
}
EAR_TRAINING = {"epochs": 4, "lr": 1e-3, "layer": 2}
EAR = {
    "no synonyms (plain)": {"baseline": "plain", "epochs": 8},
    "RS-DA": {"baseline": "rs_da", "epochs": 8},
    "alpha=0 beta=0": {"push": "none", "pull": "none"},
    "alpha=1 beta=1": {"alpha": 1.0, "beta": 1.0},
    "alpha=100 beta=1": {"alpha": 100.0, "beta": 1.0},
    "alpha=1 beta=1000": {"alpha": 1.0, "beta": 1000.0},
    "alpha=1 beta=10000": {"alpha": 1.0, "beta": 10000.0},
}
DCCA = {
    "no continued pretraining": {"steps": 0},
    "masked words only": {"weight": 0.0},
    "weight=10": {"weight": 10.0},
    "weight=10 lr=3e-4": {"weight": 10.0, "lr": 3e-4},
    "weight=10 lr=1e-2": {"lr": 1e-2},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=5)
    parser.add_argument("--only", choices=("stitching", "ear", "dcca"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for language in (SOURCE, *TARGETS):
        print(f"constant classifier on {language}: {constant(language):.3f}")
    methods = {"stitching": stitching_runs, "ear": ear_runs, "dcca": dcca_runs}
    for name, runs in methods.items():
        if arguments.only in (None, name):
            for title, configurations in runs():
                show(title, configurations, arguments.replicates)


def show(title: str, configurations: dict[str, Callable[[int], Scores]], replicates: int) -> None:
    """One table: a row per configuration, then spread between configurations over spread between seeds."""
    print(f"\n{title}", flush=True)
    means: dict[str, list[float]] = {}
    variances: dict[str, list[float]] = {}
    for name, run in configurations.items():
        started = time.perf_counter()
        results = [run(replicate) for replicate in range(replicates)]
        seconds = (time.perf_counter() - started) / replicates
        cells = []
        for language in results[0]:
            values = [scores[language] for scores in results]
            cells.append(f"{language} {np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}")
            if not name.startswith(OUTSIDE):
                means.setdefault(language, []).append(float(np.mean(values)))
                variances.setdefault(language, []).append(float(np.var(values, ddof=1)))
        print(f"  {name:28s} {'   '.join(cells)}   {seconds:4.1f} s a run", flush=True)
    for language, values in means.items():
        seeds = float(np.sqrt(np.mean(variances[language])))
        apart = max(values) - min(values)
        print(f"  {language}: best - worst = {apart:.3f}, seeds' sd = {seeds:.3f}, ratio {apart / seeds:.1f}")


def prepared(method: type[Method], specification: Specification) -> object:
    """The inputs of a method, as a search reads them."""
    return method.prepare(specification, specification.parts.lexicon)


def constant(language: str) -> float:
    """Macro-F1 of always predicting the most frequent class of source train."""
    answer = np.bincount(TOPICS.split(SOURCE, "train")[1]).argmax()
    truth = np.array(TOPICS.split(language, "dev")[1])
    return macro_f1(truth, np.full_like(truth, answer), len(LABELS))


# Stitching: the project's own trainable, one target at a time.


def stitching_runs() -> Iterator[tuple[str, dict[str, Callable[[int], Scores]]]]:
    for target in TARGETS:
        specification = {
            "name": "world",
            "method": "stitching",
            "model": "world:source-encoder",
            "task": {"name": "sib200", "data": "world:topics", "source": SOURCE, "targets": [target]},
            "inputs": {
                "vectors": {target: f"world:vectors/{target}.vec.gz"},
                "lexicons": {target: f"world:lexicons/{SOURCE}-{target}.txt"},
                "max_length": 64,
            },
            "budget": {"runs": 100},
        }
        inputs = prepared(Stitching, from_dict(specification))
        runs = {"original table, no stitching": lambda replicate, inputs=inputs: original(inputs, replicate)}
        for name, params in STITCHING.items():
            runs[name] = lambda replicate, inputs=inputs, params=params: stitched(inputs, params, replicate)
        share, anchors = inputs.targets[target].unknown_share, len(inputs.targets[target].lexicon)
        yield (
            f"stitching {SOURCE} -> {target}: {anchors} pairs, {share:.1%} of dev words without a vector",
            runs,
        )


def stitched(inputs: StitchingInputs, params: dict, replicate: int) -> Scores:
    run = Stitching(inputs, params | STITCHING_TRAINING, Streams(0, replicate), CPU)
    metrics = [run.step(number) for number in range(run.steps)][-1]
    return {language: metrics[f"dev/macro_f1/{language}"] for language in (SOURCE, *inputs.targets)}


def original(inputs: StitchingInputs, replicate: int) -> Scores:
    """The source encoder fine-tuned with its own word table: the upper bound of stitching on the source."""
    streams, options = Streams(0, replicate), TrainingOptions(**STITCHING_TRAINING)
    model = skeleton(inputs.encoder, len(LABELS))
    initialise(model, inputs.encoder, streams.seed("head"))
    learner = Learner(model, options, len(inputs.train), CPU)
    for number in range(options.epochs):
        order, dropout = streams.seed("order", number), streams.seed("dropout", number)
        learner.epoch(inputs.train, order=order, dropout=dropout, loss_of=lambda batch: model(**batch).loss)
    return {SOURCE: macro_f1(inputs.dev.labels, learner.predict(inputs.dev), len(LABELS))}


# EAR: the project's own trainable and its baselines.


def ear_runs() -> Iterator[tuple[str, dict[str, Callable[[int], Scores]]]]:
    inputs = prepared(Ear, read("demo-ear"))
    runs = {name: (lambda replicate, params=params: ear(inputs, params, replicate)) for name, params in EAR.items()}
    yield "EAR on the multilingual encoder, layer 2, eight encoder passes each", runs


def ear(inputs: EarInputs, params: dict, replicate: int) -> Scores:
    params = dict(params)
    method = Ear.class_for(params)
    known = {name: value for name, value in EAR_TRAINING.items() if method is Ear or name != "layer"}
    run = method(inputs, known | params, Streams(0, replicate), CPU)
    metrics = [run.step(number) for number in range(run.steps)][-1]
    return {language: metrics[f"dev/macro_f1/{language}"] for language in (SOURCE, *TARGETS)}


# DCCA, compact, with its squared-error loss: masked words, and word encodings drawn to static vectors in one space.


def dcca_runs() -> Iterator[tuple[str, dict[str, Callable[[int], Scores]]]]:
    words, vectors = common_space()
    corpus = [sentence for language in (SOURCE, *TARGETS) for sentence in corpus_of(language)]
    runs = {
        name: (lambda replicate, params=params: dcca(replicate, words, vectors, corpus, **params))
        for name, params in DCCA.items()
    }
    yield "DCCA on the multilingual encoder", runs


def corpus_of(language: str) -> list[str]:
    return gzip.decompress(path(f"text/{language}.txt.gz").read_bytes()).decode().splitlines()


def common_space() -> tuple[list[str], torch.Tensor]:
    """The words of all languages, each target turned onto the source by the rotation that fits the lexicon best."""
    source, rows = unit_vectors(SOURCE)
    everything, spaces = list(rows), [source]
    for target in TARGETS:
        own, index = unit_vectors(target)
        lexicon = read_lexicon(path(f"lexicons/{SOURCE}-{target}.txt"), target).entries
        pairs = [(rows[a], index[b]) for a, b, _ in lexicon if a in rows and b in index]
        left, _, right = torch.linalg.svd(own[[b for _, b in pairs]].T @ source[[a for a, _ in pairs]])
        everything += index
        spaces.append(own @ left @ right)
    return everything, torch.cat(spaces)


def unit_vectors(language: str) -> tuple[torch.Tensor, dict[str, int]]:
    """Vectors of length one, and the row of every word."""
    vectors = read_vectors(path(f"vectors/{language}.vec.gz"), language, rows=ALL_ROWS)
    return normalize(torch.tensor(vectors.table), dim=1), {word: row for row, word in enumerate(vectors.words)}


def dcca(
    replicate: int,
    words: list[str],
    vectors: torch.Tensor,
    corpus: list[str],
    *,
    steps: int = 150,
    weight: float = 10.0,
    lr: float = 3e-3,
) -> Scores:
    model, tokenizer = classifier(replicate)
    if steps:
        language_model = AutoModelForMaskedLM.from_pretrained(path("multilingual-encoder"))
        draw = torch.Generator().manual_seed(replicate)

        def loss_of(_: list[int]) -> torch.Tensor:
            chosen = torch.randint(len(corpus), (BATCH,), generator=draw).tolist()
            text = pad(tokenizer([corpus[i] for i in chosen])["input_ids"], 0)
            loss = masked_loss(language_model, *mask(text, tokenizer, draw), tokenizer.pad_token_id)
            if weight:
                chosen = torch.randint(len(words), (2 * BATCH,), generator=draw)
                ids = pad(tokenizer([words[i] for i in chosen.tolist()])["input_ids"], 0)
                attend = (ids != tokenizer.pad_token_id).long()
                hidden = language_model.bert(ids, attention_mask=attend).last_hidden_state
                inner = (ids >= len(tokenizer.all_special_ids)).float()[..., None]  # the word, no special tokens
                loss = loss - weight * agreement((hidden * inner).sum(1) / inner.sum(1), vectors[chosen])
            return loss

        fine_tune(language_model, loss_of, steps * BATCH, replicate, epochs=1, lr=lr)
        model.bert.load_state_dict(language_model.bert.state_dict(), strict=False)  # the classifier's pooler stays
    texts, classes = TOPICS.split(SOURCE, "train")

    def task_loss(rows: list[int]) -> torch.Tensor:
        ids = pad(tokenizer([texts[row] for row in rows])["input_ids"], 0)
        logits = model(ids, attention_mask=(ids != tokenizer.pad_token_id).long()).logits
        return cross_entropy(logits, torch.tensor([classes[row] for row in rows]))

    fine_tune(model, task_loss, len(texts), replicate)
    return zero_shot(model, tokenizer)


def agreement(hidden: torch.Tensor, static: torch.Tensor) -> torch.Tensor:
    """Minus the mean squared error; static vectors get the length of a layer-normed state, or they would shrink it."""
    width = hidden.shape[1]
    wanted = torch.nn.functional.pad(static, (0, width - static.shape[1])) * width**0.5
    return -(hidden - wanted).square().mean()


# Other parts of DCCA.


def classifier(replicate: int) -> tuple[torch.nn.Module, AutoTokenizer]:
    torch.manual_seed(replicate)  # the head
    folder = path("multilingual-encoder")
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=len(LABELS))
    return model, AutoTokenizer.from_pretrained(folder)


def fine_tune(
    model: torch.nn.Module,
    loss_of: Callable[[list[int]], torch.Tensor],
    examples: int,
    seed: int,
    *,
    epochs: int = EPOCHS,
    lr: float = LEARNING_RATE,
) -> None:
    torch.manual_seed(seed)  # order and dropout
    model.train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0, fused=True)
    updates = epochs * -(-examples // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / updates)
    for _ in range(epochs):
        for rows in torch.randperm(examples).split(BATCH):
            loss_of(rows.tolist()).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()
            schedule.step()


@torch.inference_mode()
def zero_shot(model: torch.nn.Module, tokenizer: AutoTokenizer) -> Scores:
    """The dev score of every language, all read with the multilingual tokenizer."""
    model.eval()
    scores = {}
    for language in (SOURCE, *TARGETS):
        texts, classes = TOPICS.split(language, "dev")
        ids = pad(tokenizer(texts)["input_ids"], tokenizer.pad_token_id)
        logits = model(ids, attention_mask=(ids != tokenizer.pad_token_id).long()).logits
        scores[language] = macro_f1(np.array(classes), logits.argmax(-1).numpy(), len(LABELS))
    return scores


if __name__ == "__main__":
    main()
