"""What the rest of the program knows of EAR. No torch here."""

from collections.abc import Callable, Sequence

from seedwise.trainables.ear.options import (
    PAPER,
    REFERENCE,
    AdversarialOptions,
    AugmentedOptions,
    EarOptions,
    PerturbedOptions,
    PlainOptions,
)
from seedwise.trainables.spec import MAX_LENGTH, Baseline, Export, Input, Landscape, MethodSpec
from seedwise.trainables.training.options import TRAINING

RATES = (5e-6, 1.58e-5, 5e-5)  # the ends and the middle of the method's default range
RADII = (0.03, 0.1, 0.3)  # not published
INPUTS = {
    "synonyms": Input(
        "single",
        required=True,
        missing="ear replaces words with synonyms",
        fix="Add a file: JSON {word: [synonyms]}, or lines of word, tab, synonyms.",
        text="Synonyms of the source language: JSON `{word: [synonyms]}`, or lines of word, tab, synonyms.",
    ),
    "max_length": MAX_LENGTH,
}


def without_redraw(params: dict) -> dict:
    """Drop `redraw` where there is only one epoch."""
    return {key: value for key, value in params.items() if key != "redraw" or params["epochs"] > 1}


def _baseline(options: type[PlainOptions], **choices: Sequence) -> Baseline:
    def equal_passes(configurations: Sequence[dict]) -> Callable[[dict], dict]:
        """As many epochs as match the encoder passes of EAR's most expensive configuration; at least one."""
        passes = max(EarOptions(**params).passes() for params in configurations)

        def resized(params: dict) -> dict:
            return {**params, "epochs": max(1, round(passes / options(**{**params, "epochs": 1}).passes()))}

        return resized

    return Baseline(options, {"lr": RATES, **choices}, canonical=without_redraw, resize=equal_passes)


CITATION = r"""@inproceedings{ding-etal-2022-simple,
    title = "A Simple and Effective Method to Improve Zero-Shot Cross-Lingual Transfer Learning",
    author = "Ding, Kunbo and Liu, Weijie and Fang, Yuejian and Mao, Weiquan and Zhao, Zhe and Zhu, Tao and
      Liu, Haoyan and Tian, Rong and Chen, Yiren",
    booktitle = "Proceedings of the 29th International Conference on Computational Linguistics",
    year = "2022",
    address = "Gyeongju, Republic of Korea",
    publisher = "International Committee on Computational Linguistics",
    pages = "4372--4380",
    url = "https://aclanthology.org/2022.coling-1.385",
}"""

SPEC = MethodSpec(
    name="ear",
    class_name="Ear",
    options=EarOptions,
    baselines={
        "plain": _baseline(PlainOptions),
        "rs_da": _baseline(AugmentedOptions),
        "rs_rp": _baseline(PerturbedOptions, radius=RADII),
        "adv": _baseline(AdversarialOptions, radius=RADII, ascents=(1, 3)),
    },
    inputs=INPUTS,
    encoder="a multilingual encoder",
    tasks=frozenset({"sentences", "pairs"}),
    compat={"paper": PAPER, "reference": REFERENCE},
    # Texts and classifier. The epochs of baselines follow from encoder passes.
    follows=(*(name for name in TRAINING if name != "epochs"), "head", "copies", "scale", "redraw", "matching"),
    citation=CITATION,
    export=Export("text-classification"),
    landscape=Landscape(
        shared=True,
        baselines=True,
    ),
)
