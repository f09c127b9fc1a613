"""Reads the inputs of a stitching search once, on the driver, as arrays that are sent to the workers.

`prepare` never opens a test set; `prepare_test` opens those of the source and the targets, for the confirmation alone.
"""

from dataclasses import dataclass

import numpy as np

from seedwise.trainables.inputs.text import Encoded
from seedwise.trainables.method import Candidates
from seedwise.trainables.request import Request
from seedwise.trainables.stitching.options import LeastSquaresOptions
from seedwise.trainables.stitching.reader import Multilingual, Reader, Target, WordSet
from seedwise.trainables.training.encoder import Encoder


@dataclass(frozen=True)
class StitchingInputs:
    source: str
    labels: list[str]
    encoder: Encoder
    specials: np.ndarray  # ids of the special tokens in the source table, in their order in the stitched table
    train: Encoded
    dev: Encoded
    unknown_shares: dict[str, float]  # of the source's pieces, by split
    targets: dict[str, Target]  # the pivots, too, which are trained and scored like targets
    labelled: dict[str, WordSet]  # training sets of the targets, for the baseline lr, which sees their labels
    multilingual: Multilingual | None
    largest_k: int  # of the space: a run computes that many neighbours, whatever its own k
    least_squares: tuple[LeastSquaresOptions, ...] = ()  # of the baseline ls: many of them train the same model
    notes: tuple[str, ...] = ()  # on what was left out of the files, for people

    def unknown_share_metrics(self) -> dict[str, float]:
        shares = {f"{split}/unknown_share/{self.source}": share for split, share in self.unknown_shares.items()}
        return shares | {f"dev/unknown_share/{name}": target.unknown_share for name, target in self.targets.items()}


@dataclass(frozen=True)
class StitchingTests:
    source: Encoded
    unknown_share: float  # of the source's pieces
    targets: dict[str, WordSet]  # no pivots: their labels serve the search, so a test would confirm nothing
    multilingual: dict[str, Encoded]  # the same sets for the zero-shot baseline; empty without it


def prepare(request: Request, candidates: Candidates) -> StitchingInputs:
    """Read the encoder, the task, the vectors and the lexica that a specification names."""
    task, reader, multilingual = request.task, Reader(request), None
    languages = [*task.targets, *task.pivots]
    (train, unknown_in_train), (dev, unknown_in_dev) = reader.source("train"), reader.source("dev")
    asks_quality = any(candidates.values("quality"))
    targets = {language: reader.target(language, asks_quality=asks_quality) for language in languages}
    if "zero_shot" in request.baselines:
        encoder, sets = reader.multilingual(train=[task.source], dev=[task.source, *languages])
        multilingual = Multilingual(encoder, sets["train"][task.source], sets["dev"])
    return StitchingInputs(
        source=task.source,
        labels=reader.task.labels,
        encoder=reader.encoder,
        specials=np.array(reader.specials),
        train=train,
        dev=dev,
        unknown_shares={"train": unknown_in_train, "dev": unknown_in_dev},
        targets=targets,
        labelled={name: reader.word_set(name, "train") for name in task.targets} if "lr" in request.baselines else {},
        multilingual=multilingual,
        largest_k=largest_k(candidates),
        least_squares=least_squares(candidates),
        notes=tuple(reader.notes),
    )


def prepare_test(request: Request) -> StitchingTests:
    """Read the test sets of the source and the targets, and the vectors of the words that occur in them."""
    task, reader, multilingual = request.task, Reader(request), {}
    if "zero_shot" in request.baselines:
        multilingual = reader.multilingual(test=[task.source, *task.targets])[1]["test"]
    targets = {language: reader.word_set(language, "test") for language in task.targets}
    return StitchingTests(*reader.source("test"), targets, multilingual)


def least_squares(candidates: Candidates) -> tuple[LeastSquaresOptions, ...]:
    """The options of all configurations of the baseline ls, each once."""
    own = candidates.configurations.get("baselines.ls", ())
    return tuple(
        dict.fromkeys(
            LeastSquaresOptions(**{key: value for key, value in params.items() if key != "baseline"}) for params in own
        )
    )


def largest_k(candidates: Candidates) -> int:
    """The largest number of neighbours that the search can ask for, apart from `all`."""
    values = candidates.values("k") | {params.get("k", 1) for params in candidates.enqueued.values()}
    return max((k for k in values if k != "all"), default=1)
