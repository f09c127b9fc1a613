"""The description of stitching for the rest of the program. No torch here."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from seedwise.errors import RequestError, nearest
from seedwise.trainables.spec import (
    MAX_LENGTH,
    VECTOR_ROWS,
    Baseline,
    Export,
    Input,
    Landscape,
    MethodSpec,
    without_files,
)
from seedwise.trainables.stitching import options
from seedwise.trainables.training.options import TRAINING, names_of

if TYPE_CHECKING:
    from seedwise.trainables.method import Candidates
    from seedwise.trainables.request import Request

Splitting = Literal["unicode", "whitespace", "jieba"]

INPUTS = {
    "vectors": Input("per_language", of="scored", required=True, text="Static vectors; see docs/stitching.md#files."),
    "lexicons": Input("per_language", of="scored", required=True, text="Dictionaries into the source language."),
    "subwords": Input(
        "per_language",
        of="scored",
        text="fastText binary models for `unknown: subword`; a language without a model uses its vectors.",
    ),
    "stop_words": Input("per_language", of="scored", text="Lists, one word per line, for `space: {stop_words: drop}`."),
    "quality": Input(
        "value", type=float | None, text="Lexicon entries below this quality (their third column) are left out."
    ),
    "multilingual": Input(
        "single",
        folder=True,
        missing="a multilingual encoder",
        fix="Add a hub id or a folder.",
        text="The encoder of the baseline `zero_shot`.",
    ),
    "splitting": Input(
        "value",
        type=Splitting | dict[str, Splitting],
        default="unicode",
        text="How target text becomes words, for all languages or by language.",
    ),
    "vector_rows": VECTOR_ROWS,
    "max_length": MAX_LENGTH,
    "unknown": Input(
        "value",
        type=Literal["lowercase", "unk", "subword"],
        default="lowercase",
        text="How to read a word without a vector. `unk`: as [UNK]. `lowercase`: as its lower case if its first or all "
        "letters are capitals, else as [UNK]. `subword`: like `lowercase`, with a vector from n-grams for [UNK].",
    ),
}


def strength_of_ridge_alone(params: dict) -> dict:
    """Drop `strength` unless the map is ridge, which alone uses it."""
    return {key: value for key, value in params.items() if key != "strength" or params["map"] == "ridge"}


BASELINES = {
    "ls": Baseline(
        options.LeastSquaresOptions,
        {"map": options.MAPS},
        kind="map",  # all maps share one source model, so no source score distinguishes them
        canonical=strength_of_ridge_alone,
        unread=tuple(name for name in names_of(options.StitchingOptions) if name not in (*TRAINING, *options.ANCHORS)),
    ),
    "lr": Baseline(
        options.RegressionOptions,
        {"c": (0.1, 1.0, 10.0, 100.0), "normalise": (False, True)},
        needs=frozenset({"target_train"}),
    ),
    "zero_shot": Baseline(options.ZeroShotOptions, needs=frozenset({"multilingual"})),
    "constant": Baseline(options.ConstantOptions),
}


def check(request: "Request", candidates: "Candidates") -> Iterable[RequestError]:
    inputs, languages = request.inputs, request.task.languages("scored")
    if inputs.subwords and inputs.unknown != "subword":
        yield RequestError("inputs.subwords", "it is read only if inputs.unknown is subword", "Set that too.")
    if isinstance(inputs.splitting, dict):
        for language in sorted(set(inputs.splitting) - set(languages)):
            yield RequestError(f"inputs.splitting.{language}", "not one of task.targets", nearest(language, languages))
    if "drop" in candidates.values("stop_words"):
        yield from without_files("inputs.stop_words", inputs.stop_words, languages)


CITATION = r"""@inproceedings{ye-etal-2024-mosecrot,
    title = "{M}o{SEC}ro{T}: Model Stitching with Static Word Embeddings for Crosslingual Zero-shot Transfer",
    author = {Ye, Haotian and Liu, Yihong and Ma, Chunlan and Sch{\"u}tze, Hinrich},
    booktitle = "Proceedings of the Fifth Workshop on Insights from Negative Results in NLP",
    year = "2024",
    address = "Mexico City, Mexico",
    publisher = "Association for Computational Linguistics",
    pages = "1--7",
    url = "https://aclanthology.org/2024.insights-1.1",
}"""

SPEC = MethodSpec(
    name="stitching",
    class_name="Stitching",
    options=options.StitchingOptions,
    baselines=BASELINES,
    inputs=INPUTS,
    encoder="a source encoder",
    tasks=frozenset({"sentences"}),
    compat={"paper": options.PAPER},
    follows=(*TRAINING, *options.ANCHORS),
    citation=CITATION,
    check=check,
    export=Export("text-classification"),
    landscape=Landscape(
        shared=False,  # each target has its own table
        # The models of source and targets have different tables, which they cannot share.
        fixed={"freeze_embeddings": True},
    ),
)
