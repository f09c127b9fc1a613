"""Checks a specification beyond its types: budgets that are too small, labels that may not rank, missing files."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from seedwise.errors import MissingFile, RequestError, RequestErrors, collected, made_of_each, nearest
from seedwise.program import called
from seedwise.search.decide.policy import policy_of
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.selection import Selection
from seedwise.search.spec.check_inputs import check_inputs, check_model
from seedwise.search.spec.landscape import NEEDS_LABELS, check_landscape
from seedwise.spaces.space import compat_of
from seedwise.trainables.methods import built_in
from seedwise.trainables.spec import MethodSpec
from seedwise.trainables.tasks.classification import METRICS
from seedwise.trainables.tasks.layouts import LAYOUTS
from seedwise.trainables.tasks.sources import Classification

if TYPE_CHECKING:
    from seedwise.search.spec.schema import Specification


LANGUAGES = {"task.source", "task.targets", "task.pivots"}


def check(specification: "Specification", *, elsewhere: bool = False) -> None:
    """Raise all problems that would fail later, each once. `elsewhere`: absolute paths are not looked up here.

    Inputs, which are listed by language, are not checked if the languages themselves are wrong. Overrides and enqueued
    configurations are not checked if there is no space for them, as with a wrong `compat`.
    """
    problems: dict[str, RequestError] = {}  # by text, since two checks may report the same problem

    def add(check_of_part: Iterable[RequestError]) -> None:
        for problem in collected(check_of_part):
            if not (elsewhere and isinstance(problem, MissingFile) and problem.absolute):
                problems[str(problem)] = problem

    spec, task = built_in(specification.method), specification.task
    add(_check_space(specification))
    add(_check_enqueued(specification))
    add((check_landscape if specification.landscape else _check_budget)(specification))
    add(_check_second(specification))
    add(_check_selection(specification, spec))
    add(_check_task(specification, spec) if task else ())
    add(_check_baselines(specification, spec))
    if spec and specification.select.on != "metric":
        add(check_model(specification, spec))
        wrong = {problem.key for problem in problems.values() if not isinstance(problem, MissingFile)}
        if task and not wrong & LANGUAGES:
            add(check_inputs(specification, spec))
        if task:
            known = {problem.key for problem in problems.values()}
            add(problem for problem in _check_method(specification, spec) if problem.key not in known)
    if problems:
        raise RequestErrors(problems.values())


def _check_space(specification: "Specification") -> Iterable[RequestError]:
    """Check the space: a grid needs values, no dimension is called `baseline`, baselines fit; and `decompose`."""
    space = specification.parts.space
    if specification.sampler == "grid" and (continuous := space.continuous()):
        fix = f"Write space.{continuous[0]}: {{choices: [...]}}, or choose another sampler."
        yield RequestError(f"space.{continuous[0]}", "this dimension is continuous, a grid needs values", fix)
    if "baseline" in space.dimensions:
        problem = "`baseline` is a name that the search uses itself"
        yield RequestError("method.space", problem, "Rename this dimension.")
    if specification.decompose and len(specification.enqueue or []) != 1:
        fix = f"Export that configuration, then: {called('run', 'FILE', '--decompose')}"
        yield RequestError("decompose", "it is for one configuration", fix)
    specification.parts.candidates  # noqa: B018 (raises if baselines do not fit)


def _check_enqueued(specification: "Specification") -> Iterable[RequestError]:
    """Check that the configurations that go first are points of the space, and that `compat` allows them."""
    space, compat = specification.parts.space, specification.compat
    items = [(f"enqueue.{index}", params) for index, params in enumerate(specification.enqueue or [])]
    for name, params in items:
        for key, value in compat_of(specification.method, compat).items():
            if params.get(key, value) != value:
                yield RequestError(f"{name}.{key}", f"compat: {compat} fixes it to {value!r}")
    made_of_each(lambda name, params: space.complete(params, name), items)


def _check_budget(specification: "Specification") -> Iterable[RequestError]:
    """Check that the budget leaves runs for at least one configuration besides the confirmation."""
    budget = specification.budget
    if budget.runs is None and budget.hours is None:
        yield RequestError("budget", "neither runs nor hours is given", "Write, for example, budget: {runs: 60}.")
    try:
        policy = specification.parts.policy
    except RequestError:  # another check reports the wrong space; the numbers below do not depend on it
        policy = policy_of(specification, Estimator(Selection.from_specification(specification.parts.resolved)))
    least, confirm = policy.least_replicates(), specification.replicates.confirm
    if budget.runs is None or budget.runs >= policy.reserve + least:
        return
    problem, less = f"{budget.runs} is too few: one configuration takes {least} runs", ""
    if policy.reserve:
        left = f"{max(0, budget.runs - policy.reserve)} runs after replicates.confirm ({confirm.top} x {confirm.fresh})"
        problem, less = f"{budget.runs} leaves {left}, one configuration takes {least}", ", or confirm less"
    yield RequestError("budget.runs", problem, f"Set it to {policy.reserve + least} or more{less}.")


def _check_selection(specification: "Specification", spec: MethodSpec | None) -> Iterable[RequestError]:
    """Check that the metric that ranks is recorded, and is of the kind that `select.on` asks for."""
    select, task, metrics = specification.select, specification.task, spec.metrics if spec else {}
    if select.on == "metric":
        if spec is not None:
            fix = "Choose source_dev, pivot_dev, or target_dev (oracle)."
            yield RequestError("select.on", "metric is only for methods of your own", fix)
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
    """Check that the second objective uses no target labels, unless `select.on` uses them too."""
    select, task = specification.select, specification.task
    if select.second is None or task is None or select.on == "target_dev":
        return
    by = select.second.by
    if by.rpartition("/")[2].partition(":")[0] in task.targets:
        problem = f"{by} uses labels of a target language, which {select.on} does not"
        yield RequestError("select.second.by", problem, "Choose another, or select.on: target_dev (oracle).")


def _check_task(specification: "Specification", spec: MethodSpec | None) -> Iterable[RequestError]:
    """Check the languages and splits, and whether the data on disk have them."""
    task, landscape = specification.task, specification.landscape
    seeds_only = landscape and not landscape.labels and spec and spec.landscape and spec.landscape.shared
    if not task.targets and not seeds_only:
        yield RequestError("task.targets", "no language is given", "Name the languages to transfer to.")
    for key, languages in (("task.targets", task.targets), ("task.pivots", [*task.targets, *task.pivots])):
        if len(set(languages)) < len(languages):
            yield RequestError(key, f"{', '.join(languages)}: a language is listed twice", "Remove one.")
            break
    for key, languages in (("task.targets", task.targets), ("task.pivots", task.pivots)):
        if task.source in languages:
            yield RequestError(key, f"{task.source} is the source", "Remove it: zero-shot targets have no labels.")
    if spec and "pairs" not in spec.tasks and (LAYOUTS[task.name].second or task.second):
        key = "name" if LAYOUTS[task.name].second else "second"
        *singles, last = (name for name, layout in LAYOUTS.items() if not layout.second)
        fix = f"Choose {', '.join(singles)} or {last}." if key == "name" else "Remove it."
        yield RequestError(f"task.{key}", f"{getattr(task, key)}: {spec.name} classifies single sentences", fix)
        return
    data = Classification(task)
    names = [data.name_of(split) for split in ("train", "dev", "test")]
    if len(set(names)) < len(names):
        problem = f"train, dev and test would be {', '.join(names)}: a set would be used twice"
        yield RequestError("task.splits", problem, "Name three sets.")
        return
    target_train = NEEDS_LABELS if landscape and landscape.labels else ""
    for name in specification.baselines if spec else ():
        if name in spec.baselines and "target_train" in spec.baselines[name].needs:
            target_train = f"The baseline {name} is trained on it. Add it, or drop {name} from baselines."
    confirmed = spec is not None and specification.replicates.confirm.top > 0
    data.check(test=confirmed, target_train=target_train)


def _check_baselines(specification: "Specification", spec: MethodSpec | None) -> Iterable[RequestError]:
    """Names of baselines, and the inputs that a baseline needs and the method does not."""
    known = spec.baselines if spec else {}
    for name in specification.baselines:
        if name not in known:
            fix = nearest(name, known) if known else "Remove it: this method has no baselines."
            yield RequestError(f"baselines.{name}", "there is no such baseline", fix)
            continue
        for key in sorted(known[name].needs & spec.inputs.keys()):
            if not getattr(specification.inputs, key):
                problem = f"the baseline {name} needs {spec.inputs[key].missing}"
                yield RequestError(f"inputs.{key}", problem, spec.inputs[key].fix)


def _check_method(specification: "Specification", spec: MethodSpec) -> Iterable[RequestError]:
    """Run the method's own checks, if its configurations can be created."""
    yield from spec.check(specification, specification.parts.candidates)
