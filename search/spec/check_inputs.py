"""Checks that the files that a method reads exist for every language, before anything starts."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from seedwise.errors import RequestError, nearest
from seedwise.trainables.inputs.files import locate
from seedwise.trainables.methods import all_inputs
from seedwise.trainables.request import Task, files_of
from seedwise.trainables.spec import Input, MethodSpec, without_files

if TYPE_CHECKING:
    from seedwise.search.spec.schema import Specification

LOCAL = ("world:", ".", "/")  # a model whose name starts like this is a folder, not a hub id


def check_model(specification: "Specification", spec: MethodSpec) -> Iterable[RequestError]:
    """Check the encoder, which every built-in method needs."""
    if specification.model is None:
        yield RequestError("model", f"{spec.name} needs {spec.encoder}", "Add model: a hub id or a folder.")
    else:
        yield from _check_path("model", specification.model, folder=True)


def check_inputs(specification: "Specification", spec: MethodSpec) -> Iterable[RequestError]:
    """Find inputs that are missing, and inputs that the method does not read."""
    inputs, fields = specification.inputs, type(specification.inputs).model_fields
    for name in all_inputs():
        changed = getattr(inputs, name) != fields[name].default
        if name not in spec.inputs and changed:  # the user would think that it has an effect
            yield RequestError(f"inputs.{name}", f"{spec.name} does not read it", "Remove it.")
    for name, described in spec.inputs.items():
        if described.shape != "value":
            yield from _check(f"inputs.{name}", described, getattr(inputs, name), specification.task)


def _check(key: str, described: Input, value: Any, task: Task) -> Iterable[RequestError]:
    """Check the languages and files of one input."""
    languages = task.languages(described.of)
    if described.required and described.missing and not value:
        yield RequestError(key, described.missing, described.fix)
    elif described.shape == "single":
        yield from _check_path(key, value, folder=described.folder) if value else ()
    elif described.shape == "sets":
        for name, files in value.items():
            yield from _check_languages(f"{key}.{name}", files, languages, complete=True)
    elif value or described.required:
        yield from _check_languages(key, value, languages, complete=described.required)


def _check_languages(key: str, files: Any, languages: list[str], *, complete: bool) -> Iterable[RequestError]:
    """Check files by language, or one pattern for all languages. `complete`: every language must have a file."""
    if isinstance(files, Mapping):
        for language in (language for language in files if language not in languages):
            yield RequestError(f"{key}.{language}", "not a language of the task", nearest(language, languages))
        if complete:
            yield from without_files(key, files, languages)
        files = {language: file for language, file in files.items() if language in languages}
    elif "{language}" not in files:
        problem = f"{files} has no {{language}} in it"
        yield RequestError(key, problem, "Write a path with it, or a file by language.")
        return
    for file_key, file in files_of(key, files, languages):
        yield from _check_path(file_key, file)


def _check_path(key: str, name: str, *, folder: bool = False) -> Iterable[RequestError]:
    """Check that a file or folder exists. A hub id may be given instead of a folder."""
    if folder and not name.startswith(LOCAL):
        return
    try:
        locate(name, key, folder=folder)
    except RequestError as error:
        yield error
