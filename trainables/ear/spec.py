"""The description of EAR for the rest of the program. No torch here."""

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

RADII = (0.03, 0.1, 0.3)  # our choice: the paper gives none
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
    """Drop `redraw` if there is only one epoch."""
    return {key: value for key, value in params.items() if key != "redraw" or params["epochs"] > 1}


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
        "plain": Baseline(PlainOptions, canonical=without_redraw),
        "rs_da": Baseline(AugmentedOptions, canonical=without_redraw),
        "rs_rp": Baseline(PerturbedOptions, {"radius": RADII}, canonical=without_redraw),
        "adv": Baseline(AdversarialOptions, {"radius": RADII, "ascents": (1, 3)}, canonical=without_redraw),
    },
    inputs=INPUTS,
    encoder="a multilingual encoder",
    tasks=frozenset({"sentences", "pairs"}),
    compat={"paper": PAPER, "reference": REFERENCE},
    follows=(*TRAINING, "head", "copies", "scale", "redraw", "matching"),  # training, texts and classifier
    citation=CITATION,
    export=Export("text-classification"),
    landscape=Landscape(shared=True, baselines=True),
    counts_passes=True,
)
