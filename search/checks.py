"""What types cannot say about a specification: budgets that buy nothing, languages without files, files not there."""

from typing import TYPE_CHECKING

from search.errors import RequestError
from spaces.dimension import nearest
from spaces.space import compat_of
from trainables.inputs.paths import locate
from trainables.tasks.layouts import LAYOUTS
from trainables.tasks.sources import Classification

if TYPE_CHECKING:
    from search.specification import Specification

METRICS = ("macro_f1", "accuracy")


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
    if specification.select.metric not in METRICS:
        raise RequestError(
            f"select.metric: {specification.select.metric!r} is not recorded."
            f"{nearest(specification.select.metric, METRICS)}"
        )
    _check_task(specification)
    if specification.method == "stitching":
        _check_stitching(specification)
    if specification.method == "ear":
        _check_ear(specification)


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
    data.check(test=built_in and specification.replicates.confirm.top > 0, target_train="lr" in specification.baselines)


def _check_stitching(specification: "Specification") -> None:
    if specification.model is None:
        raise RequestError("model: stitching needs a source encoder. Add model: a hub id or a folder.")
    for key, name in (("model", specification.model), ("inputs.multilingual", specification.inputs.multilingual)):
        if name and name.startswith(("world:", ".", "/")):
            locate(name, key, folder=True)
    _refuse(specification, "synonyms")
    inputs, languages = specification.inputs, [*specification.task.targets, *specification.task.pivots]
    drops = "drop" in specification.load_space().reachable("stop_words")
    if inputs.subwords and inputs.unknown != "subword":
        raise RequestError("inputs.subwords: these models are read where inputs.unknown is subword. Set that too.")
    if isinstance(inputs.splitting, dict) and (others := set(inputs.splitting) - set(languages)):
        language = sorted(others)[0]
        raise RequestError(f"inputs.splitting.{language}: not one of task.targets.{nearest(language, languages)}")
    for kind in ("vectors", "lexicons", "subwords", "stop_words"):
        files = getattr(inputs, kind)
        for language in files:
            if language not in languages:
                raise RequestError(f"inputs.{kind}.{language}: not one of task.targets.{nearest(language, languages)}")
        needed = kind in ("vectors", "lexicons") or (kind == "stop_words" and drops)
        for language in languages if needed else files:
            if language not in files:
                raise RequestError(
                    f"inputs.{kind}.{language}: this target language has no {kind.replace('_', ' ')}. "
                    f"Add `{language}: FILE` there, or drop it from task.targets."
                )
            locate(files[language], f"inputs.{kind}.{language}")
    if "zero_shot" in specification.baselines and inputs.multilingual is None:
        raise RequestError(
            "inputs.multilingual: the baseline zero_shot needs a multilingual encoder. Add a hub id or a folder."
        )


def _check_ear(specification: "Specification") -> None:
    inputs = specification.inputs
    if specification.model is None:
        raise RequestError("model: ear needs a multilingual encoder. Add model: a hub id or a folder.")
    if specification.model.startswith(("world:", ".", "/")):
        locate(specification.model, "model", folder=True)
    if inputs.synonyms is None:
        raise RequestError(
            "inputs.synonyms: ear changes words for their synonyms. Add a file: JSON {word: [synonyms]}, or lines of "
            "word, tab, synonyms."
        )
    locate(inputs.synonyms, "inputs.synonyms")
    _refuse(specification, "vectors", "lexicons", "subwords", "stop_words", "multilingual")


def _refuse(specification: "Specification", *kinds: str) -> None:
    """An input that the method does not read is a mistake: it would be thought to matter."""
    for kind in kinds:
        if getattr(specification.inputs, kind):
            raise RequestError(f"inputs.{kind}: {specification.method} does not read it. Remove it.")
