"""What types cannot say about a specification: budgets that buy nothing, languages without files, files not there."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from seedwise.errors import NotHere, RequestError, collected, one_of
from seedwise.search.spec.check_inputs import check_inputs
from seedwise.search.spec.landscape import NEEDS_LABELS, check_landscape
from seedwise.spaces import Space
from seedwise.spaces.space import compat_of
from seedwise.suggest import nearest
from seedwise.trainables.methods import built_in
from seedwise.trainables.spec import MethodSpec
from seedwise.trainables.tasks.classification import METRICS
from seedwise.trainables.tasks.layouts import LAYOUTS
from seedwise.trainables.tasks.sources import Classification

if TYPE_CHECKING:
    from seedwise.search.spec.schema import Specification


def check(specification: "Specification", *, elsewhere: bool = False) -> None:
    """Raise all that would go wrong later. `elsewhere`: absolute paths are those of another machine."""
    found = problems(specification)
    if elsewhere:
        found = [one for one in found if not (isinstance(one, NotHere) and one.absolute)]
    if found:
        raise one_of(found)


def problems(specification: "Specification") -> list[RequestError]:
    """All that is wrong, each thing once: a check is left out where what it looks at is wrong itself."""
    found: list[RequestError] = []
    spec = built_in(specification.method)
    parts = specification.parts
    with collected(found):
        found += _space(specification, parts.space)
        parts.candidates  # noqa: B018 (baselines and what is enqueued fit)
    if not found and not specification.landscape:
        with collected(found):
            found += _budget(specification)
    found += _second(specification)
    if specification.decompose and len(specification.enqueue or []) != 1:
        found.append(
            RequestError("decompose", "it is for one configuration", "Use `run FILE --decompose` on an exported one.")
        )
    if specification.landscape:
        found += check_landscape(specification)
    found += _selection(specification, spec)
    if specification.task is None:
        return found
    of_task: list[RequestError] = []
    with collected(of_task):
        of_task += _task(specification, spec)
    if spec is None or specification.select.on == "metric" or of_task:
        return found + of_task
    found += check_inputs(specification, spec)
    found += _baselines(specification, spec)
    return found + ([] if found else [*spec.check(specification, parts.candidates)])


def _budget(specification: "Specification") -> Iterable[RequestError]:
    """A budget must pay for a configuration beside the confirmation."""
    budget, policy = specification.budget, specification.parts.policy
    if budget.runs is None and budget.hours is None:
        yield RequestError("budget", "neither runs nor hours is given", "Write, for example, budget: {runs: 60}.")
    least = policy.least_replicates()
    if budget.runs is None or budget.runs - policy.reserve >= least:
        return
    confirm = specification.replicates.confirm
    beside = f" beside replicates.confirm ({confirm.top} x {confirm.fresh})" if policy.reserve else ""
    yield RequestError(
        "budget.runs",
        f"{budget.runs} pays for no configuration at {least} replicates{beside}",
        f"Set it to {policy.reserve + least} or more{(', or confirm less' if policy.reserve else '')}.",
    )


def _space(specification: "Specification", space: Space) -> Iterable[RequestError]:
    """What is searched, and what is enqueued."""
    if specification.sampler == "grid" and (continuous := space.continuous()):
        yield RequestError(
            f"space.{continuous[0]}",
            "this dimension is continuous, a grid needs values",
            f"Write space.{continuous[0]}: {{choices: [...]}}, or choose another sampler.",
        )
    if "baseline" in space.dimensions:
        yield RequestError(
            "method.space", "`baseline` is a name that the search uses itself", "Name this dimension otherwise."
        )
    for index, params in enumerate(specification.enqueue or []):
        for key, value in compat_of(specification.method, specification.compat).items():
            if params.get(key, value) != value:
                yield RequestError(f"enqueue.{index}.{key}", f"compat: {specification.compat} fixes it to {value!r}")


def _selection(specification: "Specification", spec: MethodSpec | None) -> Iterable[RequestError]:
    """What ranks must be recorded, and be what `select.on` says it is."""
    select, task = specification.select, specification.task
    if select.on == "metric":
        if spec is not None:
            yield RequestError(
                "select.on",
                "metric is for methods of one's own",
                "Choose source_dev, pivot_dev, or target_dev (oracle).",
            )
        return
    if select.on == "pivot_dev" and not (task and task.pivots):
        yield RequestError(
            "select.on", "pivot_dev needs languages with labels that are not reported on", "Add task.pivots: [...]."
        )
    if task is None:
        yield RequestError("task", f"select.on is {select.on}, which needs a task", "Add one.")
        return
    metrics = spec.metrics if spec else {}
    if select.metric not in (*METRICS, *metrics):
        known = (*METRICS, *metrics)
        yield RequestError("select.metric", f"{select.metric!r} is not recorded", nearest(select.metric, known))
        return
    unlabelled, own = [name for name, one in metrics.items() if one.uses == "unlabelled"], metrics.get(select.metric)
    if select.on == "unlabelled" and select.metric not in unlabelled:
        yield RequestError(
            "select.on",
            f"unlabelled, but {select.metric} needs labels or translations",
            f"Choose {(' or '.join(unlabelled) + ', or on: source_dev' if unlabelled else 'source_dev')}.",
        )
    if own is None:
        return
    if own.uses == "unlabelled" and select.on == "pivot_dev":
        yield RequestError("select.on", f"pivots have no {select.metric}", "Write select.on: unlabelled.")
    if own.uses == "translations" and select.on != "target_dev":
        yield RequestError("select.on", f"{select.metric} uses translations", "Write select.on: target_dev (oracle).")
    files = getattr(specification.inputs, own.input) if own.input else {}
    if own.input and spec.inputs[own.input].shape == "sets":
        if not files:
            yield RequestError(f"inputs.{own.input}", f"{select.metric} selects, and needs it", "Add one.")
    elif own.input:
        for language in task.targets:
            if language not in files:
                yield RequestError(
                    f"inputs.{own.input}.{language}", f"{select.metric} selects, and needs it", "Add it."
                )


def _second(specification: "Specification") -> Iterable[RequestError]:
    """The second objective must not bring target labels into the choice by the back door."""
    second, task, select = specification.select.second, specification.task, specification.select
    if second is None or task is None or select.on == "target_dev":
        return
    if second.by.rpartition("/")[2].partition(":")[0] in task.targets:
        yield RequestError(
            "select.second.by",
            f"{second.by} uses labels of a target language, which {select.on} does not",
            "Choose another, or select.on: target_dev (oracle).",
        )


def _task(specification: "Specification", spec: MethodSpec | None) -> Iterable[RequestError]:
    task, landscape = specification.task, specification.landscape
    if spec and "pairs" not in spec.tasks:
        if LAYOUTS[task.name].second:
            *singles, last = (name for name, layout in LAYOUTS.items() if not layout.second)
            yield RequestError(
                "task.name",
                f"{task.name}: {spec.name} classifies single sentences",
                f"Choose {', '.join(singles)} or {last}.",
            )
            return
        if task.second:
            yield RequestError("task.second", f"{task.second}: {spec.name} classifies single sentences", "Remove it.")
            return
    of = spec.landscape if spec else None
    if not task.targets and not (landscape and not landscape.labels and of and of.shared):
        yield RequestError("task.targets", "there is none", "Name the languages to transfer to.")
    for key, languages in (("task.targets", task.targets), ("task.pivots", [*task.targets, *task.pivots])):
        if len(set(languages)) < len(languages):
            yield RequestError(key, f"{', '.join(languages)}: a language stands there twice", "Remove one.")
            break
    for key, languages in (("task.targets", task.targets), ("task.pivots", task.pivots)):
        if task.source in languages:
            yield RequestError(key, f"{task.source} is the source", "Remove it: zero-shot targets have no labels.")
    data = Classification(task)
    names = [data.name_of(split) for split in ("train", "dev", "test")]
    if len(set(names)) < len(names):
        yield RequestError(
            "task.splits",
            f"train, dev and test would be {', '.join(names)}: one set would serve twice",
            "Name three sets.",
        )
        return
    labels = ""
    if landscape and landscape.labels:
        labels = NEEDS_LABELS
    elif spec:
        for name in specification.baselines:
            if name in spec.baselines and "target_train" in spec.baselines[name].needs:
                labels = f"The baseline {name} is trained on it. Add it, or drop {name} from baselines."
    confirmed = spec is not None and landscape is None and specification.replicates.confirm.top > 0
    data.check(test=confirmed, target_train=labels)


def _baselines(specification: "Specification", spec: MethodSpec) -> Iterable[RequestError]:
    """The inputs that a baseline needs and the method does not."""
    for name in specification.baselines.keys() & spec.baselines.keys():
        for key in sorted(spec.baselines[name].needs & spec.inputs.keys()):
            if not getattr(specification.inputs, key):
                what = spec.inputs[key].missing
                yield RequestError(f"inputs.{key}", f"the baseline {name} needs {what}")
