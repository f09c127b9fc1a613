"""What types cannot say about a specification: budgets that buy nothing, labels that may not rank, missing files."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from seedwise.errors import MissingFile, RequestError, RequestErrors, nearest
from seedwise.program import called
from seedwise.search.spec.check_inputs import check_inputs
from seedwise.search.spec.landscape import NEEDS_LABELS, check_landscape
from seedwise.spaces.space import compat_of
from seedwise.trainables.methods import built_in
from seedwise.trainables.spec import MethodSpec
from seedwise.trainables.tasks.classification import METRICS
from seedwise.trainables.tasks.layouts import LAYOUTS
from seedwise.trainables.tasks.sources import Classification

if TYPE_CHECKING:
    from seedwise.search.spec.schema import Specification


def check(specification: "Specification", *, elsewhere: bool = False) -> None:
    """Raise everything that would fail later. `elsewhere`: absolute paths are those of another machine."""
    problems = _problems(specification)
    if elsewhere:
        problems = [problem for problem in problems if not (isinstance(problem, MissingFile) and problem.absolute)]
    if problems:
        raise RequestErrors(problems)


def _problems(specification: "Specification") -> list[RequestError]:
    """All problems, each once: a check is skipped if what it looks at is itself wrong."""
    spec = built_in(specification.method)
    problems = _collect(_check_space(specification))
    if specification.landscape:
        problems += check_landscape(specification)
    elif not problems:
        problems += _collect(_check_budget(specification))
    problems += _check_second(specification)
    if specification.decompose and len(specification.enqueue or []) != 1:
        fix = f"Export that configuration, then: {called('run', 'FILE', '--decompose')}"
        problems.append(RequestError("decompose", "it is for one configuration", fix))
    problems += _check_selection(specification, spec)
    if specification.task is None:
        return problems
    of_task = _collect(_check_task(specification, spec))
    problems += of_task
    if spec is None or specification.select.on == "metric" or of_task:
        return problems
    problems += check_inputs(specification, spec)
    problems += _check_baselines(specification, spec)
    return problems or [*spec.check(specification, specification.parts.candidates)]


def _collect(check: Iterable[RequestError]) -> list[RequestError]:
    """What a check yields, and what it raises in the end."""
    problems: list[RequestError] = []
    try:
        problems.extend(check)
    except RequestError as error:
        problems += error.problems
    return problems


def _check_space(specification: "Specification") -> Iterable[RequestError]:
    """What is searched, and what is enqueued."""
    space, compat = specification.parts.space, specification.compat
    if specification.sampler == "grid" and (continuous := space.continuous()):
        fix = f"Write space.{continuous[0]}: {{choices: [...]}}, or choose another sampler."
        yield RequestError(f"space.{continuous[0]}", "this dimension is continuous, a grid needs values", fix)
    if "baseline" in space.dimensions:
        problem = "`baseline` is a name that the search uses itself"
        yield RequestError("method.space", problem, "Name this dimension otherwise.")
    for index, params in enumerate(specification.enqueue or []):
        for key, value in compat_of(specification.method, compat).items():
            if params.get(key, value) != value:
                yield RequestError(f"enqueue.{index}.{key}", f"compat: {compat} fixes it to {value!r}")
    specification.parts.candidates  # noqa: B018 (raises if baselines or enqueued configurations do not fit)


def _check_budget(specification: "Specification") -> Iterable[RequestError]:
    """A budget must leave runs for a configuration besides the confirmation."""
    budget, policy = specification.budget, specification.parts.policy
    if budget.runs is None and budget.hours is None:
        yield RequestError("budget", "neither runs nor hours is given", "Write, for example, budget: {runs: 60}.")
    least, confirm = policy.least_replicates(), specification.replicates.confirm
    if budget.runs is None or budget.runs >= policy.reserve + least:
        return
    problem, less = f"{budget.runs} is too few: one configuration takes {least} runs", ""
    if policy.reserve:
        left = f"{max(0, budget.runs - policy.reserve)} runs after replicates.confirm ({confirm.top} x {confirm.fresh})"
        problem, less = f"{budget.runs} leaves {left}, one configuration takes {least}", ", or confirm less"
    yield RequestError("budget.runs", problem, f"Set it to {policy.reserve + least} or more{less}.")


def _check_selection(specification: "Specification", spec: MethodSpec | None) -> Iterable[RequestError]:
    """What ranks must be recorded, and be what `select.on` says it is."""
    select, task, metrics = specification.select, specification.task, spec.metrics if spec else {}
    if select.on == "metric":
        if spec is not None:
            fix = "Choose source_dev, pivot_dev, or target_dev (oracle)."
            yield RequestError("select.on", "metric is for methods of one's own", fix)
        return
    if select.on == "pivot_dev" and not (task and task.pivots):
        problem = "pivot_dev needs languages with labels that are not reported on"
        yield RequestError("select.on", problem, "Add task.pivots: [...].")
    if task is None:
        yield RequestError("task", f"select.on is {select.on}, which needs a task", "Add one.")
        return
    if select.metric not in (known := (*METRICS, *metrics)):
        yield RequestError("select.metric", f"{select.metric!r} is not recorded", nearest(select.metric, known))
        return
    unlabelled = [name for name, metric in metrics.items() if metric.uses == "unlabelled"]
    if select.on == "unlabelled" and select.metric not in unlabelled:
        problem = f"unlabelled, but {select.metric} needs labels or translations"
        choices = [" or ".join(unlabelled), "on: source_dev"] if unlabelled else ["source_dev"]
        yield RequestError("select.on", problem, f"Choose {', or '.join(choices)}.")
    if (chosen := metrics.get(select.metric)) is None:
        return
    if chosen.uses == "unlabelled" and select.on == "pivot_dev":
        yield RequestError("select.on", f"pivots have no {select.metric}", "Write select.on: unlabelled.")
    if chosen.uses == "translations" and select.on != "target_dev":
        yield RequestError("select.on", f"{select.metric} uses translations", "Write select.on: target_dev (oracle).")
    if chosen.input:
        key, problem = f"inputs.{chosen.input}", f"{select.metric} selects, and needs it"
        files = getattr(specification.inputs, chosen.input)
        if spec.inputs[chosen.input].shape == "sets":
            yield from () if files else [RequestError(key, problem, "Add one.")]
        else:
            missing = (language for language in task.targets if language not in files)
            yield from (RequestError(f"{key}.{language}", problem, "Add it.") for language in missing)


def _check_second(specification: "Specification") -> Iterable[RequestError]:
    """The second objective must not let target labels take part in the choice."""
    select, task = specification.select, specification.task
    if select.second is None or task is None or select.on == "target_dev":
        return
    by = select.second.by
    if by.rpartition("/")[2].partition(":")[0] in task.targets:
        problem = f"{by} uses labels of a target language, which {select.on} does not"
        yield RequestError("select.second.by", problem, "Choose another, or select.on: target_dev (oracle).")


def _check_task(specification: "Specification", spec: MethodSpec | None) -> Iterable[RequestError]:
    """Languages and splits; and, read from disk, whether the data have them."""
    task, landscape = specification.task, specification.landscape
    if spec and "pairs" not in spec.tasks and (LAYOUTS[task.name].second or task.second):
        key = "name" if LAYOUTS[task.name].second else "second"
        *singles, last = (name for name, layout in LAYOUTS.items() if not layout.second)
        fix = f"Choose {', '.join(singles)} or {last}." if key == "name" else "Remove it."
        yield RequestError(f"task.{key}", f"{getattr(task, key)}: {spec.name} classifies single sentences", fix)
        return
    seeds_only = landscape and not landscape.labels and spec and spec.landscape and spec.landscape.shared
    if not task.targets and not seeds_only:
        yield RequestError("task.targets", "there is none", "Name the languages to transfer to.")
    for key, languages in (("task.targets", task.targets), ("task.pivots", [*task.targets, *task.pivots])):
        if len(set(languages)) < len(languages):
            yield RequestError(key, f"{', '.join(languages)}: a language is listed twice", "Remove one.")
            break
    for key, languages in (("task.targets", task.targets), ("task.pivots", task.pivots)):
        if task.source in languages:
            yield RequestError(key, f"{task.source} is the source", "Remove it: zero-shot targets have no labels.")
    data = Classification(task)
    names = [data.name_of(split) for split in ("train", "dev", "test")]
    if len(set(names)) < len(names):
        problem = f"train, dev and test would be {', '.join(names)}: one set would serve twice"
        yield RequestError("task.splits", problem, "Name three sets.")
        return
    target_train = NEEDS_LABELS if landscape and landscape.labels else ""
    for name in specification.baselines if spec else ():
        if name in spec.baselines and "target_train" in spec.baselines[name].needs:
            target_train = f"The baseline {name} is trained on it. Add it, or drop {name} from baselines."
    confirmed = spec is not None and specification.replicates.confirm.top > 0
    data.check(test=confirmed, target_train=target_train)


def _check_baselines(specification: "Specification", spec: MethodSpec) -> Iterable[RequestError]:
    """The inputs that a baseline needs and the method does not."""
    for name in specification.baselines.keys() & spec.baselines.keys():
        for key in sorted(spec.baselines[name].needs & spec.inputs.keys()):
            if not getattr(specification.inputs, key):
                problem = f"the baseline {name} needs {spec.inputs[key].missing}"
                yield RequestError(f"inputs.{key}", problem)
