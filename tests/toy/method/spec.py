"""The description of the toy method, without torch."""

from seedwise.trainables.spec import Baseline, Export, Input, MethodSpec, Metric
from seedwise.trainables.toy.options import PlainOptions, ToyOptions

CITATION = r"""@article{maron-1961-automatic,
    title = "Automatic Indexing: An Experimental Inquiry",
    author = "Maron, M. E.",
    journal = "Journal of the ACM",
    year = "1961",
}"""

SPEC = MethodSpec(
    name="toy",
    class_name="Toy",
    options=ToyOptions,
    spaces=("default",),
    baselines={"plain": Baseline(PlainOptions)},  # EAR has one of this name too
    inputs={
        "ignored": Input(
            "single",
            required=True,
            missing="toy leaves words out",
            fix="Add a file with one word a line.",
            text="Words that are left out.",
        ),
        "lower": Input("value", type=bool, default=False, text="Whether words are lowercased."),
    },
    encoder="an encoder with a tokenizer",
    tasks=frozenset({"sentences"}),
    compat={"printed": {"smoothing": 1.0}},
    follows=("sentences",),
    citation=CITATION,
    metrics={"known_words": Metric("unlabelled")},
    export=Export("text-classification", scores="A score is that of a count."),
)
