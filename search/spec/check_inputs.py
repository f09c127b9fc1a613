"""Whether a method finds the files it reads, for every language, before anything starts."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from seedwise.errors import RequestError
from seedwise.suggest import nearest
from seedwise.trainables.inputs.paths import locate
from seedwise.trainables.methods import all_inputs
from seedwise.trainables.request import by_language
from seedwise.trainables.spec import Input, MethodSpec, without_files

if TYPE_CHECKING:
    from seedwise.search.spec.schema import Specification

LOCAL = ("world:", ".", "/")  # how the name of a folder begins that is no hub id


def check_inputs(specification: "Specification", spec: MethodSpec) -> Iterable[RequestError]:
    """What is missing, and what the method would not read."""
    inputs, fields = specification.inputs, type(specification.inputs).model_fields
    for name in all_inputs():
        given = getattr(inputs, name) != fields[name].default
        if name not in spec.inputs and given:  # it would be thought to matter
            yield RequestError(f"inputs.{name}", f"{spec.name} does not read it", "Remove it.")
    if specification.model is None:
        yield RequestError("model", f"{spec.name} needs {spec.encoder}", "Add model: a hub id or a folder.")
    elif specification.model.startswith(LOCAL):
        yield from _found(specification.model, "model", folder=True)
    for name, one in spec.inputs.items():
        if one.shape != "value":
            yield from _check(f"inputs.{name}", one, getattr(inputs, name), specification)


def _check(key: str, one: Input, value: Any, specification: "Specification") -> Iterable[RequestError]:
    """One input of a method, by its shape."""
    task = specification.task
    languages = task.languages(one.of)
    if one.required and not value and one.missing:
        yield RequestError(key, one.missing)
    elif one.shape == "one":
        if value and (not one.folder or value.startswith(LOCAL)):
            yield from _found(value, key, folder=one.folder)
    elif one.shape == "pattern":
        yield from _of_all(key, value, specification) if value else ()
    elif one.shape == "sets":
        for name, files in value.items():
            yield from _of_all(f"{key}.{name}", files, specification)
    else:
        if one.required:
            yield from without_files(key, value, languages)
        for language, files in value.items():
            if language not in languages:
                yield RequestError(f"{key}.{language}", "not one of task.targets", nearest(language, languages))
                continue
            for file in [files] if isinstance(files, str) else files:
                yield from _found(file, f"{key}.{language}")


def _of_all(key: str, files: str | dict[str, str], specification: "Specification") -> Iterable[RequestError]:
    """A file for every language, by each or by a pattern."""
    if isinstance(files, str) and "{language}" not in files:
        yield RequestError(key, f"{files} has no {{language}} in it", "Write a path with it, or a file by language.")
        return
    languages, files = specification.task.languages(), by_language(files, specification.task)
    for language in files:
        if language not in languages:
            yield RequestError(f"{key}.{language}", "not a language of the task", nearest(language, languages))
    for language in languages:
        if language in files:
            yield from _found(files[language], f"{key}.{language}")
        else:
            yield RequestError(
                f"{key}.{language}", "this language has no file", "Add it, or drop it from task.targets."
            )


def _found(name: str, key: str, *, folder: bool = False) -> Iterable[RequestError]:
    try:
        locate(name, key, folder=folder)
    except RequestError as error:
        yield error
