"""What types cannot say about a specification: budgets that buy nothing, languages without files, files not there."""

from typing import TYPE_CHECKING

from search.errors import RequestError
from spaces.dimension import nearest
from trainables.inputs.paths import locate

if TYPE_CHECKING:
    from search.specification import Specification, Task

METRICS = ("macro_f1", "accuracy")


def check(specification: "Specification") -> None:
    """Raise at the first thing that would go wrong later."""
    budget, n = specification.budget, specification.replicates.n
    if budget.runs is None and budget.hours is None:
        raise RequestError("budget: neither runs nor hours is given. Write, for example, budget: {runs: 60}.")
    if budget.runs is not None and budget.runs < n:
        raise RequestError(
            f"budget.runs: {budget.runs} pays for no configuration at replicates.n: {n}. Set it to {n} or more."
        )
    space = specification.load_space()
    if specification.sampler == "grid" and (continuous := space.continuous()):
        raise RequestError(
            f"space.{continuous[0]}: this dimension is continuous, a grid needs values. "
            f"Write space.{continuous[0]}: {{choices: [...]}}, or choose another sampler."
        )
    for index, params in enumerate(specification.enqueue):
        try:
            space.complete(params)
        except RequestError as error:
            raise RequestError(f"enqueue.{index}.{str(error).removeprefix('space.')}") from None
    if specification.select.on == "metric":
        if isinstance(specification.method, str):
            raise RequestError(
                "select.on: metric is for methods of one's own. Choose source_dev, or target_dev (oracle)."
            )
        if specification.task is not None:
            _check_task(specification.task)
        return
    if specification.task is None:
        raise RequestError(f"task: select.on is {specification.select.on}, which needs a task. Add one.")
    if specification.select.metric not in METRICS:
        raise RequestError(
            f"select.metric: {specification.select.metric!r} is not recorded."
            f"{nearest(specification.select.metric, METRICS)}"
        )
    _check_task(specification.task)
    if specification.method == "stitching":
        _check_stitching(specification)


def _check_task(task: "Task") -> None:
    folder = locate(task.data, "task.data", folder=True)
    if len(set(task.targets)) < len(task.targets):
        raise RequestError(f"task.targets: {', '.join(task.targets)}: a language stands there twice. Remove one.")
    if task.source in task.targets:
        raise RequestError(f"task.targets: {task.source} is the source. Remove it: zero-shot targets have no labels.")
    for key, language in [("task.source", task.source), *(("task.targets", language) for language in task.targets)]:
        if not (folder / language).is_dir():
            known = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
            raise RequestError(f"{key}: {language}: {task.data} has no such folder.{nearest(language, known)}")
        for split in ("train", "dev") if language == task.source else ("dev",):
            if not (folder / language / f"{split}.tsv").is_file():
                raise RequestError(f"{key}: {folder / language / split}.tsv is missing. Add it, or drop {language}.")


def _check_stitching(specification: "Specification") -> None:
    if specification.model is None:
        raise RequestError("model: stitching needs a source encoder. Add model: a hub id or a folder.")
    if specification.model.startswith(("world:", ".", "/")):
        locate(specification.model, "model", folder=True)
    for kind in ("vectors", "lexicons"):
        files = getattr(specification.inputs, kind)
        for language in files:
            if language not in specification.task.targets:
                raise RequestError(
                    f"inputs.{kind}.{language}: not one of task.targets.{nearest(language, specification.task.targets)}"
                )
        for language in specification.task.targets:
            if language not in files:
                raise RequestError(
                    f"inputs.{kind}.{language}: this target language has no {kind}. "
                    f"Add `{language}: FILE` there, or drop it from task.targets."
                )
            locate(files[language], f"inputs.{kind}.{language}")
