"""Errors that are printed for the user."""

import difflib
from collections.abc import Callable, Iterable
from typing import Any


class RequestError(Exception):
    """The request was wrong; the command line prints it as one line and exits with 2.

    `key` says where: a key of the specification, an option, a file with its line. `problem` says what is wrong there,
    and `fix`, a whole sentence, what to do about it.
    """

    def __init__(self, key: str, problem: str, fix: str = ""):
        super().__init__(key, problem, fix)
        self.key, self.problem, self.fix = key, problem, fix

    def __str__(self) -> str:
        end = "" if self.problem.endswith((".", "?", "!")) else "."
        return f"{self.key}: {self.problem}{end} {self.fix}".rstrip()

    @property
    def problems(self) -> list["RequestError"]:
        """All that is wrong: one line each."""
        return [self]


class RequestErrors(RequestError):
    """All that is wrong with one request; the key, problem and fix of the error itself are those of the first."""

    def __init__(self, problems: Iterable[RequestError]):
        self._problems = list(problems)
        super().__init__(*self._problems[0].args[:3])
        self.args = (self._problems,)  # for pickle

    def __str__(self) -> str:
        return "\n".join(map(str, self._problems))

    @property
    def problems(self) -> list[RequestError]:
        return self._problems


def collected(problems: Iterable[RequestError]) -> list[RequestError]:
    """What a check yields, and what it raises in the end."""
    known: list[RequestError] = []
    try:
        known.extend(problems)
    except RequestError as error:
        known += error.problems
    return known


def made_of_each(make: Callable[[Any, Any], Any], items: Iterable[tuple[Any, Any]]) -> dict:
    """What `make` makes of every key and value, by key. All that is wrong with any of them is raised at once."""
    made, problems = {}, []
    for key, value in items:
        try:
            made[key] = make(key, value)
        except RequestError as error:
            problems += error.problems
    if problems:
        raise RequestErrors(problems)
    return made


class MissingFile(RequestError):
    """A file or folder that this machine does not have. `name` is what the specification calls it."""

    def __init__(self, key: str, problem: str, fix: str, name: str):
        super().__init__(key, problem, fix)
        self.args = (key, problem, fix, name)  # for pickle
        self.absolute = name.startswith(("/", "~"))  # another machine may have it


class SearchError(Exception):
    """The search cannot go on. The text says why, and how to go on later; the command line exits with 1."""


def nearest(name: str, known: Iterable) -> str:
    """A fix for an unknown name: 'Did you mean ...?' with the closest known name, or all of them."""
    close = difflib.get_close_matches(str(name), [str(key) for key in known], n=1, cutoff=0.5)
    return f"Did you mean {close[0]}?" if close else f"There are: {', '.join(map(str, known))}."
