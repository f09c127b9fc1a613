"""Errors of pydantic as errors of the request, for specifications and the options of methods alike."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from seedwise.credentials import HIDDEN, has_password, mask
from seedwise.errors import RequestError, RequestErrors, nearest

KINDS = ("literal[", "Custom", "function-", "constr", "dict[")  # pydantic adds the kinds that it tries to a location
SCALARS = ("float", "int", "str", "bool", "[key]")


@contextmanager
def request_errors(prefix: str = "", model: type | None = None) -> Iterator[None]:
    """In this block, pydantic's errors become one error for each key; `prefix` goes before the key.

    A RequestError about a key of a checked object gets the prefix too. `model` has the names to suggest for an unknown
    name.
    """
    try:
        yield
    except ValidationError as error:
        raise RequestErrors([_error(f"{prefix}{key}", problems, model) for key, problems in _meant(error)]) from error
    except ValueError as error:  # from the user's own code
        raise RequestError(prefix.rstrip("."), str(error)) from error
    except RequestError as error:
        if not prefix:
            raise
        prefixed = (RequestError(prefix + each.key, each.problem, each.fix) for each in error.problems)
        raise RequestErrors(prefixed) from error


def _meant(error: ValidationError) -> list[tuple[str, list[dict]]]:
    """The keys with the problems of each.

    If a value may be of several kinds, pydantic reports on all of them: the kind that got furthest was meant.
    """
    by_key: dict[str, list[dict]] = {}
    for problem in error.errors():
        by_key.setdefault(".".join(_location(problem)), []).append(problem)
    return [item for item in by_key.items() if not any(other.startswith(f"{item[0]}.") for other in by_key)]


def _location(problem: dict) -> list[str]:
    """The keys that lead to a problem, without the kinds that pydantic tried."""
    names = [str(part) for part in problem["loc"]]
    return [name for name in names if not name.startswith(KINDS) and name not in SCALARS]


def _error(key: str, problems: list[dict], model: type | None) -> RequestError:
    """The key, its value, and what would be right."""
    # In a choice between kinds (auto, or a number) the message of the kind that was meant says more.
    likely = (each for each in problems[:2] if (each["type"] == "literal_error") == isinstance(each["input"], str))
    problem = next(likely, problems[0])
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        *above, name = _location(problem)
        return RequestError(key, "there is no such key", nearest(name, _names(model, above)))
    if problem["type"] == "missing":
        examples = key in _fields(model) and _fields(model)[key].examples
        example = f", for example `{key}: {examples[0]}`" if examples else ""
        return RequestError(key, "this key is missing", f"Add it{example}.")
    value = problem["input"]
    shown = HIDDEN if isinstance(value, str) and has_password(value) else mask(repr(value))
    message = problem["msg"].removeprefix("Value error, ")
    return RequestError(key, f"{shown} is wrong: {message[0].lower()}{message[1:]}")


def _names(model: Any, above: list[str]) -> list[str]:
    """The keys that exist below a location in a model."""
    for part in above:
        hint = _fields(model)[part].annotation if part in _fields(model) else None
        model = next((kind for kind in (hint, *getattr(hint, "__args__", ())) if _fields(kind)), None)
    return list(_fields(model))


def _fields(model: Any) -> dict[str, Any]:
    return getattr(model, "__pydantic_fields__", {})
