"""The errors that a person is meant to read."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager


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
    """Several things are wrong with one request."""

    def __init__(self, problems: Iterable[RequestError]):
        self.several = list(problems)
        first = self.several[0]
        super().__init__(first.key, first.problem, first.fix)
        self.args = (self.several,)  # from which another process makes it again

    def __str__(self) -> str:
        return "\n".join(map(str, self.several))

    @property
    def problems(self) -> list[RequestError]:
        return self.several


class NotHere(RequestError):
    """A file or folder that this machine does not have. `name` is what the specification calls it."""

    def __init__(self, key: str, problem: str, fix: str, name: str):
        super().__init__(key, problem, fix)
        self.name = name
        self.args = (key, problem, fix, name)  # from which another process makes it again

    @property
    def absolute(self) -> bool:
        """Whether another machine may have it: one that a search is sent to has nothing else of this one's."""
        return self.name.startswith(("/", "~"))


class SearchError(Exception):
    """The search cannot go on. The text says why, and how to go on later; the command line exits with 1."""


@contextmanager
def collected(found: list[RequestError]) -> Iterator[None]:
    """In this block, what is wrong is added to `found` instead of raised; the rest of the block is left out."""
    try:
        yield
    except RequestError as error:
        found += error.problems


def one_of(found: list[RequestError]) -> RequestError:
    """All that was found wrong as one error."""
    return found[0] if len(found) == 1 else RequestErrors(found)
