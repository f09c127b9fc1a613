"""Reads a specification from a file or plain data, with the overrides of the command line, and checks it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from seedwise import yaml12
from seedwise.credentials import HIDDEN, has_password, mask
from seedwise.errors import RequestError, nearest
from seedwise.folder import LEDGER
from seedwise.imports import importable
from seedwise.renamed_keys import new_key, with_new_names
from seedwise.search.ledger.state import State
from seedwise.search.spec.landscape import completed
from seedwise.search.spec.schema import Specification, named
from seedwise.search.spec.validate import check
from seedwise.trainables.inputs.files import read_lines
from seedwise.validation import request_errors

BUILT_IN = Path(__file__).with_name("builtin")


def read(source: str, overrides: Iterable[str] = (), *, elsewhere: bool = False) -> Specification:
    """Read a YAML file or a built-in name, apply `key.sub=value` overrides, check everything that can be checked.

    Paths in a file are relative to the current folder; `world:NAME` is a file of the embedded world. `elsewhere`: the
    search will run on another machine, so absolute paths are not looked up here.
    """
    content = content_of(source)
    set_all(content, overrides)
    return from_dict(content, elsewhere=elsewhere)


def content_of(source: str) -> dict:
    """The content of a YAML file or of a built-in specification, with today's names of keys, but not checked."""
    return with_new_names(yaml_of(source), advise=not Path(source).with_name(LEDGER).exists())


def yaml_of(source: str) -> dict:
    """The content of a YAML file or of a built-in specification, with its keys named as they are in the file."""
    path = Path(source)
    if not path.is_file():
        path = BUILT_IN / f"{source}.yaml"
    if not path.is_file():
        known = sorted(entry.stem for entry in BUILT_IN.glob("*.yaml"))
        raise RequestError(source, "no such file, and no built-in specification", nearest(source, known))
    try:
        content = yaml12.load("\n".join(read_lines(path, "specification")))
    except yaml12.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        raise RequestError(f"{source}{line}", f"not YAML: {getattr(error, 'problem', error)}") from error
    if not isinstance(content, dict):
        raise RequestError(source, f"a specification is a mapping of keys to values, this is {mask(repr(content))}")
    return content


def recorded(state: State) -> Specification:
    """The specification of a search that has begun, not checked again: its files may be elsewhere now."""
    return Specification.model_validate(state.specification)


@importable()  # a space function may import neighbouring modules
def from_dict(content: dict, *, elsewhere: bool = False) -> Specification:
    """A checked specification from plain data; `elsewhere` as in `read`."""
    with request_errors(model=Specification):
        specification = Specification.model_validate(content)
        if specification.landscape:
            specification = Specification.model_validate(completed(specification))
    check(specification, elsewhere=elsewhere)
    return specification


def set_all(content: dict, overrides: Iterable[str]) -> None:
    """Apply `key.sub=value` overrides to plain data, in their order."""
    for override in overrides:
        _set(content, override)
    content.update(with_new_names(content))


def _set(content: dict, override: str) -> None:
    """Apply one `key.sub=value`; the value is YAML, so numbers, lists and mappings are written as in a file."""
    key, equals, value = override.partition("=")
    shown = f"--set {override}"
    if has_password(override):
        shown = f"--set {key.partition(':')[0]}{equals}{HIDDEN}"
    if not equals or not key:
        raise RequestError(shown, "there is no value", "Write key=value, for example --set budget.runs=20.")
    try:
        parsed = yaml12.load(value)
    except yaml12.YAMLError as error:
        raise RequestError(shown, f"the value is not YAML ({getattr(error, 'problem', error)})") from error
    *parents, last = new_key(key).split(".")
    section = content
    for parent in parents:
        section[parent] = _mapping(section.get(parent), parent, shown)
        section = section[parent]
    section[last] = parsed


def _mapping(value: Any, name: str, shown: str) -> dict:
    """The value of a key as a mapping, in which another key can be set; `shown` begins an error."""
    if name == "space" and isinstance(value, str):
        return {"base": value}
    value = named(value) if name == "baselines" else value
    if value is not None and not isinstance(value, dict):
        raise RequestError(shown, f"{name} is {mask(repr(value))} there, which has no keys", f"Set {name} as a whole.")
    return value or {}
