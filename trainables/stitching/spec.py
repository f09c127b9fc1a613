"""Stitching as the rest of the program knows it. No torch here."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from seedwise.errors import RequestError
from seedwise.suggest import nearest
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
from seedwise.trainables.stitching.options import (
    ANCHORS,
    MAPS,
    PAPER,
    ConstantOptions,
    LeastSquaresOptions,
    RegressionOptions,
    StitchingOptions,
    ZeroShotOptions,
)
from seedwise.trainables.training.options import TRAINING, names_of

if TYPE_CHECKING:
    from seedwise.trainables.method import Candidates
    from seedwise.trainables.request import Request

Splitting = Literal["unicode", "whitespace", "jieba"]
RATES = (5e-6, 1.58e-5, 5e-5)  # the ends and the middle of the method's default range

INPUTS = {
    "vectors": Input("per_language", of="scored", required=True),
    "lexicons": Input("per_language", of="scored", required=True),
    "subwords": Input("per_language", of="scored"),  # fastText binary models for unknown: subword; default: the vectors
    "stop_words": Input("per_language", of="scored"),  # lists, one word a line, for space: {stop_words: drop}
    # Lexicon entries below this quality (their third column) are left out.
    "quality": Input("value", type=float | None),
    # The encoder of the zero_shot baseline.
    "multilingual": Input("single", folder=True, missing="a multilingual encoder. Add a hub id or a folder."),
    # How target text becomes words, for all or by language.
    "splitting": Input("value", type=Splitting | dict[str, Splitting], default="unicode"),
    "vector_rows": VECTOR_ROWS,
    "max_length": MAX_LENGTH,
    # A word without a vector: [UNK]; or, if it has a first capital or only capitals, the vector of its lower case; or,
    # failing both, a vector made of its n-grams.
    "unknown": Input("value", type=Literal["lowercase", "unk", "subword"], default="lowercase"),
}


def strength_of_ridge_alone(params: dict) -> dict:
    """Drop the strength of all maps but ridge."""
    return {key: value for key, value in params.items() if key != "strength" or params["map"] == "ridge"}


BASELINES = {
    "ls": Baseline(
        LeastSquaresOptions,
        {"map": MAPS, "lr": RATES},
        canonical=strength_of_ridge_alone,
        unread=tuple(name for name in names_of(StitchingOptions) if name not in (*TRAINING, *ANCHORS)),
    ),
    "lr": Baseline(
        RegressionOptions, {"c": (0.1, 1.0, 10.0, 100.0), "normalise": (False, True)}, needs=frozenset({"target_train"})
    ),
    "zero_shot": Baseline(ZeroShotOptions, {"lr": RATES}, needs=frozenset({"multilingual"})),
    "constant": Baseline(ConstantOptions),
}


def check(request: "Request", candidates: "Candidates") -> Iterable[RequestError]:
    inputs, languages = request.inputs, request.task.languages("scored")
    if inputs.subwords and inputs.unknown != "subword":
        yield RequestError("inputs.subwords", "these models are read where inputs.unknown is subword", "Set that too.")
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
    options=StitchingOptions,
    baselines=BASELINES,
    inputs=INPUTS,
    encoder="a source encoder",
    tasks=frozenset({"sentences"}),
    compat={"paper": PAPER},
    follows=(*TRAINING, *ANCHORS),
    citation=CITATION,
    check=check,
    export=Export("text-classification"),
    landscape=Landscape(
        shared=False,  # the tables of the targets differ
        # Source and target read different tables, which their models cannot share.
        fixed={"freeze_embeddings": True},
    ),
)
