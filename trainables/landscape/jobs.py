"""The runs of a landscape, and the points that they evaluate. Plans import this module: no torch here.

Equation numbers are those of "Zero-shot Cross-lingual Transfer is Under-specified Optimization".
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from itertools import product

INITIAL, SOURCE, TARGET, BOTH = "initial", "source", "target", "both"  # models, by what they were trained on
MODELS = (SOURCE, TARGET, BOTH)  # the paper's three, all trained from the initial model
TRAIN, LINE, PLANE, SEEDS, AROUND = "train", "line", "plane", "seeds", "around"  # kinds of jobs
ALL, ENCODER, HEAD = "all", "encoder", "head"  # parts of a model that are moved; the rest stays
PARTS = (ALL, ENCODER, HEAD)

EVEN = tuple(round(-0.5 + 0.1 * step, 1) for step in range(21))  # of both axes of the plane
DENSER = (0.025, 0.05, 0.075, 0.125, 0.15, 0.175, 0.825, 0.85, 0.875, 0.925, 0.95, 0.975)  # near both ends of a line
LINE_POINTS = tuple(sorted((*EVEN, *DENSER)))  # the paper's 33
RADII = tuple(round(-0.5 + 0.05 * step, 2) for step in range(21))  # along a random direction, in lengths of filters
ROWS = 3  # rows of the plane in one run: 63 points, so that a plane is spread over a cluster


@dataclass(frozen=True)
class Model:
    """A trained model: what it was trained on, its target language (empty if all targets share it), its replicate."""

    on: str
    target: str
    replicate: int

    @classmethod
    def of(cls, on: str, target: str, replicate: int, *, shared: bool) -> "Model":
        """The model for a target. `shared`: all targets share the initial model and the source's model."""
        return cls(on, "" if shared and on in (INITIAL, SOURCE) else target, replicate)


@dataclass(frozen=True)
class Job:
    """One run of a landscape, apart from its replicate. Its fields are added to the configuration's parameters.

    `on` is the model that is trained, that a line begins at, or that random directions start from. `part` moves; the
    rest of the model stays that of the first model of `models`.
    """

    landscape: str
    on: str = ""
    target: str = ""
    part: str = ""
    other: int = 0  # of seeds: the replicate at the other end
    row: int = 0  # of a plane: the first of ROWS rows
    direction: int = 0  # of around: the number of the random direction

    def params(self) -> dict:
        """The fields that are set; a line, for example, has no direction."""
        return {"landscape": self.landscape} | {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def split(cls, params: dict) -> tuple["Job", dict]:
        """The job of a configuration, and the method's own parameters."""
        own = dict(params)
        return cls(**{field.name: own.pop(field.name) for field in fields(cls) if field.name in own}), own

    def points(self) -> list[tuple[float, ...]]:
        """The coordinates of the points, in the order of the run's steps."""
        if self.landscape == PLANE:
            return [(x, y) for y in EVEN[self.row : self.row + ROWS] for x in EVEN]
        return [(a,) for a in (RADII if self.landscape == AROUND else LINE_POINTS)]

    def models(self, replicate: int, *, shared: bool) -> list[Model]:
        """The models that the job needs at a replicate; parts that do not move stay those of the first model.

        `shared`: see `Model.of`.
        """
        needed = {
            TRAIN: [] if self.on == INITIAL else [(INITIAL, replicate)],
            LINE: [(self.on, replicate), (BOTH, replicate)],
            PLANE: [(BOTH, replicate), (SOURCE, replicate), (TARGET, replicate)],
            SEEDS: [(SOURCE, replicate), (SOURCE, self.other)],
            AROUND: [(self.on, replicate)],
        }
        return [Model.of(on, self.target, at, shared=shared) for on, at in needed[self.landscape]]

    def weights(self, point: tuple[float, ...]) -> tuple[float, ...]:
        """The weight of each model at a point; at a trained model its weight is exactly 1 and all other weights are 0.

        Lines: a theta_both + (1 - a) theta_mono (equations 1 and 2). Planes, equation 3: theta_both + a1 (theta_src -
        theta_both) + a2 (theta_tgt - theta_both). Around: theta + a times a direction.
        """
        if self.landscape == PLANE:
            return (1 - point[0] - point[1], *point)
        return (1.0, *point) if self.landscape == AROUND else (1 - point[0], *point)


def jobs(targets: list[str], options: dict, *, shared: bool) -> Iterator[tuple[Job, int]]:
    """All runs of a landscape, each with its replicate; runs come after the runs that they depend on.

    `options` are `landscape` of a resolved specification. Without labels of the targets only source models are trained,
    so there are no lines and planes: source models are compared with each other and with their surroundings.
    """
    replicates, labels = range(options["replicates"]), options["labels"]
    trained_on = MODELS if labels else (SOURCE,)
    targets_of = dict.fromkeys((INITIAL, SOURCE), [""] if shared else targets) | dict.fromkeys((TARGET, BOTH), targets)
    everywhere = [Job(TRAIN, on, target) for on in (INITIAL, *trained_on) for target in targets_of[on]]
    if labels:
        lines = product(options["parts"], targets, (SOURCE, TARGET))
        everywhere += [Job(LINE, on, target, part) for part, target, on in lines]
    yield from product(everywhere, replicates)
    for target, other in product(targets_of[SOURCE], replicates):
        yield from ((Job(SEEDS, SOURCE, target, ALL, other), replicate) for replicate in range(other))
    for direction, on in product(range(options["directions"]), trained_on):
        around = [Job(AROUND, on, target, ALL, direction=direction) for target in targets_of[on]]
        yield from product(around, replicates)
    if labels:
        of_planes = replicates[: options["plane"]["replicates"]]
        for part, target, replicate in product(options["plane"]["parts"], targets, of_planes):
            yield from ((Job(PLANE, "", target, part, row=row), replicate) for row in range(0, len(EVEN), ROWS))
