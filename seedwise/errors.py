"""Errors that are printed for the user."""

import difflib
from collections.abc import Callable, Iterable
from typing import Any


class RequestError(Exception):
    """An error in the user's request. The command line prints the error as one line and exits with 2.

    `key` says where: a key of the specification, an option, or a file and its line. `problem` says what is wrong
    there. `fix` is a whole sentence that says what to do.
    """

    def __init__(self, key: str, problem: str, fix: str = ""):
        super().__init__(key, problem, fix)
        self.key, self.problem, self.fix = key, problem, fix

    def __str__(self) -> str:
        end = "" if self.problem.endswith((".", "?", "!")) else "."
        return f"{self.key}: {self.problem}{end} {self.fix}".rstrip()

    @property
    def problems(self) -> list["RequestError"]:
        """All problems of the request, each as an error that prints as one line."""
        return [self]


class RequestErrors(RequestError):
    """Several problems of one request. `key`, `problem` and `fix` are those of the first problem."""

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
    """All problems that a check yields, and those of the error that it raises, if any."""
    known: list[RequestError] = []
    try:
        known.extend(problems)
    except RequestError as error:
        known += error.problems
    return known


def made_of_each(make: Callable[[Any, Any], Any], items: Iterable[tuple[Any, Any]]) -> dict:
    """Call `make` on every key and value; returns the results by key. Raises the problems of all items in one error."""
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
    """A file or folder is missing on this machine. `name` is its path as written in the specification."""

    def __init__(self, key: str, problem: str, fix: str, name: str):
        super().__init__(key, problem, fix)
        self.args = (key, problem, fix, name)  # for pickle
        self.absolute = name.startswith(("/", "~"))  # another machine may have it


class SearchError(Exception):
    """The search cannot continue. The text says why and how to continue later; the command line exits with 1."""


def nearest(name: str, known: Iterable) -> str:
    """A fix for an unknown name: 'Did you mean ...?' with the closest known name, or a list of all known names."""
    close = difflib.get_close_matches(str(name), [str(key) for key in known], n=1, cutoff=0.5)
    return f"Did you mean {close[0]}?" if close else f"There are: {', '.join(map(str, known))}."
