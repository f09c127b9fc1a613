"""The description of DCCA (continued pretraining) for the rest of the program. No torch here."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from seedwise.errors import RequestError, nearest
from seedwise.program import called
from seedwise.trainables.dcca.options import (
    PAPER,
    REFERENCE,
    DccaOptions,
    MaskedOptions,
    MseOptions,
    UntouchedOptions,
    alignment_of,
    without_tuning,
)
from seedwise.trainables.spec import MAX_LENGTH, VECTOR_ROWS, Baseline, Count, Export, Input, MethodSpec, Metric
from seedwise.trainables.tasks.classification import METRICS
from seedwise.trainables.training.options import OptimiserOptions, names_of

if TYPE_CHECKING:
    from seedwise.trainables.method import Candidates
    from seedwise.trainables.request import Request

WEIGHTS = (0.1, 1.0, 10.0)  # not the method's weights: squared distances have other units than correlations

INPUTS = {
    "text": Input(
        "pattern",
        of="all",
        required=True,
        missing="dcca pretrains on unlabelled text",
        fix="Add a file for each language, one sentence per line: text: {en: FILE, fr: FILE}, or a path with "
        "{language} in it.",
        text="Unlabelled text, one sentence per line: a file per language, or a path with `{language}`.",
    ),
    "text_blocks": Input(
        "value",
        type=Count,
        default=20_000,
        text="Blocks of `max_length` tokens to draw from all text of a language. More blocks take more memory.",
    ),
    "static": Input("sets", of="all", text="Sets of static vectors, under names that you choose."),
    "align": Input(
        "value",
        type=Literal["off", "orthogonal", "supervised", "aaai2018"],
        default="off",
        text="How `lexicons` map the static vectors of the targets into the source's space; `off`: the vectors are "
        "in that space already.",
    ),
    "lexicons": Input("per_language", text="Dictionaries for `align`."),
    "probes": Input("per_language", text="Lexica for scoring the encoders only."),
    "parallel": Input("pairs", text="Parallel files of target and source sentences, aligned by line."),
    "score_layer": Input(
        "value",
        type=Count | None,
        text="The layer whose states score words and sentences, counted from 1; none: the last layer.",
    ),
    "vector_rows": VECTOR_ROWS,
    "max_length": MAX_LENGTH,
}

ENCODER_METRICS = {
    "correlation": Metric("unlabelled", input="static", bounds=(-1.0, 1.0)),
    "mlm_probability": Metric("unlabelled"),
    "retrieval": Metric("translations", input="parallel"),
    "lexicon": Metric("translations", input="probes"),
}


def check(request: "Request", candidates: "Candidates") -> Iterable[RequestError]:
    inputs = request.inputs
    for key, configurations in candidates.configurations.items():
        yield from _check_configurations(key, configurations, inputs.static, request.select.metric)
    if inputs.align == "off" and inputs.lexicons:
        yield RequestError("inputs.lexicons", "only inputs.align reads them", "Set inputs.align too, or remove them.")
    for language in request.task.targets:
        if inputs.align != "off" and language not in inputs.lexicons:
            yield RequestError(
                f"inputs.lexicons.{language}",
                "inputs.align needs it",
                f"Add a lexicon, or align without one beforehand, with `{called('vectors', 'align')}`.",
            )
    if request.prune != "off":
        yield RequestError("prune", "dcca has no score before its last epochs, so no run can be pruned", "Remove it.")


def _check_configurations(key: str, configurations: Iterable[dict], sets: dict, metric: str) -> Iterable[RequestError]:
    """Report missing sets of static vectors, and a missing classifier whose score selects, each only once."""
    errors: dict[str, RequestError] = {}
    for params in configurations:
        if metric in METRICS and params["tune_epochs"] == 0:
            unlabelled = " or ".join(name for name, spec in ENCODER_METRICS.items() if spec.uses == "unlabelled")
            errors["tune"] = RequestError(
                f"{key}.tune_epochs",
                f"{metric} selects, which needs a classifier",
                f"Write 1 or more, or select by {unlabelled} with on: unlabelled.",
            )
        if alignment_of(params) == "none":
            continue
        name = params["static"]
        if not sets:
            errors["sets"] = RequestError(
                "inputs.static",
                f"the alignment of {key} needs static vectors",
                "Add a set of vectors, such as static: {x2s: FILES}, or write space.alignment: none.",
            )
        elif name and name not in sets:
            errors[name] = RequestError(f"{key}.static", f"there is no inputs.static.{name}", nearest(name, sets))
        elif not name and len(sets) > 1:
            errors[name] = RequestError(
                f"{key}.static", f"it must name one of {', '.join(sets)}", f"Set {key}.static to one of these names."
            )
    return errors.values()


def steps_of_blocks(params: dict) -> dict:
    """Arguments for transformers.TrainingArguments: a step reads `blocks` blocks of text, `block_batch` at a time."""
    whole = params["blocks"] % params["block_batch"] == 0
    batch = params["block_batch"] if whole else params["blocks"]
    return {
        "max_steps": params["steps"],
        "per_device_train_batch_size": batch,
        "gradient_accumulation_steps": params["blocks"] // batch,
    }


CITATION = r"""@inproceedings{hammerl-etal-2022-combining,
    title = "Combining Static and Contextualised Multilingual Embeddings",
    author = {H{\"a}mmerl, Katharina and Libovick{\'y}, Jind{\v{r}}ich and Fraser, Alexander},
    booktitle = "Findings of the Association for Computational Linguistics: ACL 2022",
    year = "2022",
    address = "Dublin, Ireland",
    publisher = "Association for Computational Linguistics",
    pages = "2316--2329",
    url = "https://aclanthology.org/2022.findings-acl.182",
}"""

SPEC = MethodSpec(
    name="dcca",
    class_name="Dcca",
    options=DccaOptions,
    baselines={
        "untouched": Baseline(UntouchedOptions, canonical=without_tuning),
        "mlm": Baseline(MaskedOptions, canonical=without_tuning),
        "mse": Baseline(MseOptions, {"weight": WEIGHTS}, canonical=without_tuning),
    },
    inputs=INPUTS,
    encoder="a multilingual encoder",
    tasks=frozenset({"sentences", "pairs"}),
    compat={"paper": PAPER, "reference": REFERENCE},
    follows=(
        *names_of(OptimiserOptions),
        *("steps", "blocks", "block_batch", "mask_rate", "drawn"),  # how text is drawn
        *("static", "layer", "pooling", "padding", "words", "word_batch"),  # how words become vectors
        *("tune_epochs", "tune_lr", "tune_warmup", "tune_batch_size"),
    ),
    citation=CITATION,
    metrics=ENCODER_METRICS,
    check=check,
    export=Export(
        "fill-mask",
        scores="Classification scores belong to a classifier that was fine-tuned from it.",
        then="another search can start from it: --set model={folder}",
        arguments=steps_of_blocks,
    ),
)
