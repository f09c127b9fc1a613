"""The pictures of the paper as plain data: losses beside their noise floor, and words before and after training."""

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from seedwise.trainables.ear.examples import Examples
from seedwise.trainables.ear.options import EarOptions
from seedwise.trainables.ear.prepare import EarInputs
from seedwise.trainables.ear.targets import pooled
from seedwise.trainables.training.encoder import initialise, skeleton
from seedwise.trainables.training.learner import Learner

WORDS = 12  # first words of each sentence that are drawn: more would be unreadable
LABELLED = 2  # sentences whose words are written beside their dots
FLOOR = "identical inputs: the noise floor"
PERPLEXITY = 15.0  # of t-SNE, for some hundred dots


def losses(curves: dict[str, list[list[float]]], options: EarOptions) -> list[dict]:
    """Push and pull over the batches of a run, each with its value for identical inputs; [] without push and pull."""
    pulled = "attention maps" if options.pull == "apt" else "mean states"
    panels = []
    for name, shown, sign, title in (
        ("push", options.push == "ept", -1, "distance of the mean embeddings, squared (push)"),
        ("pull", options.pull != "none", 1, f"difference of the {pulled} of layer {options.layer}, squared (pull)"),
    ):
        if not shown:
            continue
        series = [
            {
                "name": label,
                "kind": "line",
                "x": [batch for batch, _ in curves.get(key, [])],
                "y": [sign * value for _, value in curves.get(key, [])],
                "dashed": key.endswith("floor"),
            }
            for key, label in ((name, "a sentence and its copy"), (f"{name}_floor", FLOOR))
        ]
        panels.append({"title": title, "x": "batch", "y": f"{options.reduction} of squares", "series": series})
    noise = ": none, since both streams share their dropout masks." if options.shared_dropout else "."
    picture = {
        "name": "losses",
        "title": "Push and pull over a run",
        "text": "The distance that the embedding-push rewards and the difference that the attention-pull penalises, by "
        f"batch, before the weights alpha = {options.alpha:g} and beta = {options.beta:g}. Dashed: the same for two "
        f"copies of a sentence, the part that is due to dropout{noise}",
        "columns": 2,
        "panels": panels,
    }
    return [picture] if panels else []


def projection(inputs: EarInputs, learner: Learner) -> list[dict]:
    """Words of parallel sentences in the last layer, as a picture: a row per target, before and after fine-tuning."""
    before = skeleton(inputs.encoder, len(inputs.labels))
    initialise(before, inputs.encoder, seed=0)
    before.to(learner.device)
    panels = []
    for target in (language for language in inputs.parallel if language != inputs.source):
        for when, model in (("before", before), ("after", learner.model)):
            languages = (inputs.source, target)
            words = {name: states(model, inputs.train, inputs.parallel[name]) for name in languages}
            panels.append(_panel(f"{target}, {when}", words, inputs.parallel))
    return [
        {
            "name": "words",
            "title": "Words of parallel sentences before and after fine-tuning",
            "text": f"t-SNE (perplexity {PERPLEXITY:g}) of the last layer's states of the first {WORDS} words of "
            f"{len(inputs.parallel[inputs.source])} dev sentences and their translations, with a separate map for each "
            "panel: compare distances only within a panel. The share counts the target's sentences whose nearest "
            "source sentence, by the cosine of mean states, is their translation.",
            "columns": 2,
            "panels": panels,
        }
    ]


def states(model: PreTrainedModel, examples: Examples, sentences: list[list[str]]) -> tuple[Tensor, list[Tensor]]:
    """Mean states of sentences (S, d), and for each sentence the states of its first words, as means over pieces."""
    device = next(model.parameters()).device
    batch, words, count = examples.batch([(sentence,) for sentence in sentences], device)
    model.eval()
    with torch.no_grad():
        last = model.base_model(**batch).last_hidden_state
    pieces = (words[:, None] == torch.arange(count, device=device)[:, None]).to(last.dtype)
    word_states = (pieces @ last) / pieces.sum(-1, keepdim=True).clamp_min(1)
    kept = [min(WORDS, len(sentence)) for sentence in sentences]
    means = pooled(last, batch["attention_mask"]).cpu()
    return means, [part[:n].cpu() for part, n in zip(word_states, kept, strict=True)]


def _panel(title: str, words: dict[str, tuple[Tensor, list[Tensor]]], parallel: dict[str, list[list[str]]]) -> dict:
    from sklearn.manifold import TSNE  # here, because no other part of a run needs it

    share = translations_found(*(mean for mean, _ in words.values()))
    stacked = torch.cat([state for _, states in words.values() for state in states]).numpy()
    points = TSNE(perplexity=min(PERPLEXITY, (len(stacked) - 1) / 3), init="pca", random_state=0).fit_transform(stacked)
    series, start = [], 0
    for language, (_, states) in words.items():
        end = start + sum(map(len, states))
        labels = [
            word if number < LABELLED else ""
            for number, sentence in enumerate(parallel[language])
            for word in sentence[:WORDS]
        ]
        x, y = np.round(points[start:end].astype(float), 3).T.tolist()
        series.append({"name": language, "kind": "points", "x": x, "y": y, "labels": labels})
        start = end
    return {"title": f"{title}: {share:.0%} of the translations found", "x": "", "y": "", "series": series}


def translations_found(source: Tensor, target: Tensor) -> float:
    """The share of rows of `target` whose nearest row of `source`, by cosine, has the same row number."""
    cosines = torch.nn.functional.normalize(target, dim=-1) @ torch.nn.functional.normalize(source, dim=-1).T
    return (cosines.argmax(1) == torch.arange(len(target))).float().mean().item()
