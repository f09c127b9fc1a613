"""What types cannot say about a specification: budgets that buy nothing, languages without files, files not there."""

from typing import TYPE_CHECKING

from seedwise.errors import RequestError
from seedwise.search.decide.baselines import asked_of
from seedwise.search.spec.check_inputs import check_inputs
from seedwise.search.spec.landscape_check import LABELS, check_landscape
from seedwise.spaces.space import compat_of
from seedwise.suggest import nearest
from seedwise.trainables.tasks.layouts import LAYOUTS
from seedwise.trainables.tasks.sources import Classification

if TYPE_CHECKING:
    from seedwise.search.spec.schema import Specification

METRICS = ("macro_f1", "accuracy")
UNLABELLED = ("correlation", "mlm_probability")  # of dcca: no label and no translation
TRANSLATED = {"retrieval": "parallel", "lexicon": "probes"}  # of dcca, by what they need for every target


def check(specification: "Specification") -> None:
    """Raise at the first thing that would go wrong later."""
    budget = specification.budget
    if budget.runs is None and budget.hours is None:
        raise RequestError("budget: neither runs nor hours is given. Write, for example, budget: {runs: 60}.")
    space = specification.load_space()
    _check_budget(specification)
    if specification.sampler == "grid" and (continuous := space.continuous()):
        raise RequestError(
            f"space.{continuous[0]}: this dimension is continuous, a grid needs values. "
            f"Write space.{continuous[0]}: {{choices: [...]}}, or choose another sampler."
        )
    if "baseline" in space.dimensions:
        raise RequestError(
            "method.space: `baseline` is a name that the search uses itself. Name this dimension otherwise."
        )
    for index, params in enumerate(specification.enqueue or []):
        for key, value in compat_of(specification.method, specification.compat).items():
            if params.get(key, value) != value:
                raise RequestError(f"enqueue.{index}.{key}: compat: {specification.compat} fixes it to {value!r}.")
        try:
            space.complete(params)
        except RequestError as error:
            raise RequestError(f"enqueue.{index}.{str(error).removeprefix('space.')}") from None
    if specification.decompose and len(specification.enqueue or []) != 1:
        raise RequestError("decompose: it is for one configuration. Use `run FILE --decompose` on an exported one.")
    if specification.landscape:
        check_landscape(specification)
    specification.baseline_runs(specification.standing())
    _check_second(specification)
    if specification.select.on == "metric":
        if isinstance(specification.method, str):
            raise RequestError(
                "select.on: metric is for methods of one's own. Choose source_dev, pivot_dev, or target_dev (oracle)."
            )
        if specification.task is not None:
            _check_task(specification)
        return
    if specification.select.on == "pivot_dev" and not (specification.task and specification.task.pivots):
        raise RequestError(
            "select.on: pivot_dev needs languages with labels that are not reported on. Add task.pivots: [...]."
        )
    if specification.task is None:
        raise RequestError(f"task: select.on is {specification.select.on}, which needs a task. Add one.")
    _check_metric(specification)
    _check_task(specification)
    if isinstance(specification.method, str):
        check_inputs(specification)


def _check_metric(specification: "Specification") -> None:
    """What ranks must be recorded, and be what `select.on` says it is."""
    select, dcca = specification.select, specification.method == "dcca"
    known = (*METRICS, *UNLABELLED, *TRANSLATED) if dcca else METRICS
    if select.metric not in known:
        raise RequestError(f"select.metric: {select.metric!r} is not recorded.{nearest(select.metric, known)}")
    if select.on == "unlabelled" and select.metric not in UNLABELLED:
        raise RequestError(
            f"select.on: unlabelled, but {select.metric} needs labels or translations. "
            + (f"Choose {' or '.join(UNLABELLED)}, or on: source_dev." if dcca else "Choose source_dev.")
        )
    if select.metric in UNLABELLED and select.on == "pivot_dev":
        raise RequestError(f"select.on: pivots have no {select.metric}. Write select.on: unlabelled.")
    if select.metric == "correlation" and not specification.inputs.static:
        raise RequestError("inputs.static: correlation selects, and is one with static vectors. Add a set of them.")
    if select.metric in TRANSLATED:
        kind = TRANSLATED[select.metric]
        if select.on != "target_dev":
            raise RequestError(f"select.on: {select.metric} uses translations. Write select.on: target_dev (oracle).")
        for language in specification.task.targets:
            if language not in getattr(specification.inputs, kind):
                raise RequestError(f"inputs.{kind}.{language}: {select.metric} selects, and needs it. Add it.")
    if not dcca or select.metric not in METRICS:
        return
    for key, met in asked_of(specification.as_dict()).configurations.items():
        if any(params["tune_epochs"] == 0 for params in met):
            raise RequestError(
                f"{key}.tune_epochs: {select.metric} selects, which needs a classifier. Write 1 or more, or select by "
                f"{' or '.join(UNLABELLED)} with on: unlabelled."
            )


def _check_budget(specification: "Specification") -> None:
    """A budget must pay for a configuration beside the confirmation."""
    policy, runs = specification.policy(specification.standing()), specification.budget.runs
    least = policy.for_everyone()
    if runs is None or runs - policy.reserve >= least:
        return
    confirm = specification.replicates.confirm
    beside = f" beside replicates.confirm ({confirm.top} x {confirm.fresh})" if policy.reserve else ""
    raise RequestError(
        f"budget.runs: {runs} pays for no configuration at {least} replicates{beside}. "
        f"Set it to {policy.reserve + least} or more{', or confirm less' if policy.reserve else ''}."
    )


def _check_second(specification: "Specification") -> None:
    """The second objective must not bring target labels into the choice by the back door."""
    second, task, select = specification.select.second, specification.task, specification.select
    if second is None or task is None or select.on == "target_dev":
        return
    if second.by.rpartition("/")[2].partition(":")[0] in task.targets:
        raise RequestError(
            f"select.second.by: {second.by} uses labels of a target language, which {select.on} does not. "
            "Choose another, or select.on: target_dev (oracle)."
        )


def _check_task(specification: "Specification") -> None:
    task = specification.task
    if specification.method == "stitching" and LAYOUTS[task.name].second:
        *singles, last = (name for name, layout in LAYOUTS.items() if not layout.second)
        raise RequestError(
            f"task.name: {task.name}: stitching classifies single sentences. Choose {', '.join(singles)} or {last}."
        )
    if specification.method == "stitching" and task.second:
        raise RequestError(f"task.second: {task.second}: stitching classifies single sentences. Remove it.")
    seeds_alone = specification.landscape and not specification.landscape.labels and specification.method == "ear"
    if not task.targets and not seeds_alone:
        raise RequestError("task.targets: there is none. Name the languages to transfer to.")
    for key, languages in (("task.targets", task.targets), ("task.pivots", [*task.targets, *task.pivots])):
        if len(set(languages)) < len(languages):
            raise RequestError(f"{key}: {', '.join(languages)}: a language stands there twice. Remove one.")
    for key, languages in (("task.targets", task.targets), ("task.pivots", task.pivots)):
        if task.source in languages:
            raise RequestError(f"{key}: {task.source} is the source. Remove it: zero-shot targets have no labels.")
    data = Classification(task.model_dump())
    names = [data.name_of(split) for split in ("train", "dev", "test")]
    if len(set(names)) < len(names):
        raise RequestError(
            f"task.splits: train, dev and test would be {', '.join(names)}: one set would serve twice. Name three sets."
        )
    built_in = isinstance(specification.method, str)
    labels = ""
    if specification.landscape and specification.landscape.labels:
        labels = LABELS
    elif "lr" in specification.baselines:
        labels = "The baseline lr is trained on it. Add it, or drop lr from baselines."
    data.check(test=built_in and specification.replicates.confirm.top > 0, target_train=labels)
