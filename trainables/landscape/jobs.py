"""What the runs of a landscape do, and at which points of the space of parameters. No torch here: plans read this.

Equation numbers are those of "Zero-shot Cross-lingual Transfer is Under-specified Optimization".
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields

INITIAL, SOURCE, TARGET, BOTH = "initial", "source", "target", "both"  # models, by what they were trained on
MODELS = (SOURCE, TARGET, BOTH)  # the three of the paper, all from the initial one
TRAIN, LINE, PLANE, SEEDS, AROUND = "train", "line", "plane", "seeds", "around"  # kinds of jobs
ALL, ENCODER, HEAD = "all", "encoder", "head"  # parts of a model that are moved; the rest stays
PARTS = (ALL, ENCODER, HEAD)

EVEN = tuple(round(-0.5 + 0.1 * place, 1) for place in range(21))  # of both axes of the plane
MORE = (0.025, 0.05, 0.075, 0.125, 0.15, 0.175, 0.825, 0.85, 0.875, 0.925, 0.95, 0.975)  # near both ends of a line
LINE_POINTS = tuple(sorted((*EVEN, *MORE)))  # the paper's 33
RADII = tuple(round(-0.5 + 0.05 * place, 2) for place in range(21))  # along a random direction, in lengths of filters
ROWS = 3  # of the plane in one run: 63 points, so that a cluster has something to share out


@dataclass(frozen=True)
class Model:
    """A trained model: what it was trained on, for which target language, at which replicate.

    `target` is empty for models that all targets share.
    """

    on: str
    target: str
    replicate: int

    @classmethod
    def of(cls, on: str, target: str, replicate: int, *, shared: bool) -> "Model":
        """The one that a target sees. `shared`: the initial model and that of the source serve all targets."""
        return cls(on, "" if shared and on in (INITIAL, SOURCE) else target, replicate)


@dataclass(frozen=True)
class Job:
    """One run of a landscape, but for its replicate. As parameters it stands beside those of the configuration.

    `on` is the model of a training, of a line's beginning, or of the middle of random directions. `part` moves, the
    rest of the model stays that of the first model of `models`.
    """

    landscape: str
    on: str = ""
    target: str = ""
    part: str = ""
    other: int = 0  # of seeds: the replicate at the other end
    row: int = 0  # of a plane: its first of ROWS rows
    direction: int = 0  # of around: which random one

    def params(self) -> dict:
        """Only what the job has, so that nobody reads a direction of a line."""
        return {"landscape": self.landscape} | {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def taken(cls, params: dict) -> tuple["Job", dict]:
        """The job of a configuration, and the method's own parameters."""
        names = {one.name for one in fields(cls)}
        own = {name: value for name, value in params.items() if name not in names}
        return cls(**{name: value for name, value in params.items() if name in names}), own

    def points(self) -> list[tuple[float, ...]]:
        """The coordinates of its points, in the order of its steps."""
        if self.landscape == PLANE:
            return [(x, y) for y in EVEN[self.row : self.row + ROWS] for x in EVEN]
        return [(a,) for a in (RADII if self.landscape == AROUND else LINE_POINTS)]

    def models(self, replicate: int, *, shared: bool) -> list[Model]:
        """The models that it needs at a replicate, the one whose other parts stay first; `shared` as of `Model.of`."""

        def model(on: str, at: int = replicate) -> Model:
            return Model.of(on, self.target, at, shared=shared)

        if self.landscape == TRAIN:
            return [] if self.on == INITIAL else [model(INITIAL)]
        if self.landscape == SEEDS:
            return [model(SOURCE), model(SOURCE, self.other)]
        if self.landscape == AROUND:
            return [model(self.on)]
        return [model(self.on), model(BOTH)] if self.landscape == LINE else [model(BOTH), model(SOURCE), model(TARGET)]

    def weights(self, point: tuple[float, ...]) -> tuple[float, ...]:
        """What each of the models counts for at a point, so that at an end one is exactly 1 and the others 0.

        Lines: a theta_both + (1 - a) theta_mono (equations 1 and 2). Planes, equation 3: theta_both + a1 (theta_src -
        theta_both) + a2 (theta_tgt - theta_both). Around: theta + a times a direction.
        """
        if self.landscape == PLANE:
            return (1 - point[0] - point[1], *point)
        return (1.0, *point) if self.landscape == AROUND else (1 - point[0], *point)


def jobs(targets: list[str], options: dict, *, shared: bool) -> Iterator[tuple[Job, int]]:
    """All runs of a landscape, each with its replicate, those that others need before these.

    `options` are `landscape` of a resolved specification. Without labels of the targets there are no models of target
    and both, and so no lines and planes: seeds are compared with each other, source models with what is around them.
    """
    every, replicates = range(options["replicates"]), list(range(options["replicates"]))
    sharing = [""] if shared else targets
    known = MODELS if options["labels"] else (SOURCE,)
    for on in (INITIAL, *known):
        for target in sharing if on in (INITIAL, SOURCE) else targets:
            yield from ((Job(TRAIN, on, target), replicate) for replicate in replicates)
    if options["labels"]:
        for part in options["parts"]:
            for target in targets:
                for on in (SOURCE, TARGET):
                    yield from ((Job(LINE, on, target, part), replicate) for replicate in replicates)
    for target in sharing:
        for other in every:
            yield from ((Job(SEEDS, SOURCE, target, ALL, other), replicate) for replicate in replicates[:other])
    for direction in range(options["directions"]):
        for on in known:
            for target in sharing if on == SOURCE else targets:
                job = Job(AROUND, on, target, ALL, direction=direction)
                yield from ((job, replicate) for replicate in replicates)
    if options["labels"]:
        for part in options["plane"]["parts"]:
            for target in targets:
                for replicate in replicates[: options["plane"]["replicates"]]:
                    yield from ((Job(PLANE, "", target, part, row=row), replicate) for row in range(0, len(EVEN), ROWS))
