"""Turns errors of pydantic into errors of the request, for specifications and for options of methods."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from seedwise.credentials import HIDDEN, has_password, mask
from seedwise.errors import RequestError, RequestErrors, nearest

KINDS = ("literal[", "Custom", "function-", "constr", "dict[")  # types that pydantic adds to the location of an error
SCALARS = ("float", "int", "str", "bool", "[key]")


@contextmanager
def request_errors(prefix: str = "", model: type | None = None) -> Iterator[None]:
    """In this block, pydantic's errors become one RequestError per key, with `prefix` before the key.

    A RequestError that is raised in the block gets the prefix too. For an unknown key, the fix suggests a key of
    `model`.
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
    """Pairs of a key and its problems.

    If a value may have several types, pydantic reports problems for each of them: only the deepest keys are kept.
    """
    by_key: dict[str, list[dict]] = {}
    for problem in error.errors():
        by_key.setdefault(".".join(_location(problem)), []).append(problem)
    return [item for item in by_key.items() if not any(other.startswith(f"{item[0]}.") for other in by_key)]


def _location(problem: dict) -> list[str]:
    """The keys that lead to a problem, without the types that pydantic tried."""
    names = [str(part) for part in problem["loc"]]
    return [name for name in names if not name.startswith(KINDS) and name not in SCALARS]


def _error(key: str, problems: list[dict], model: type | None) -> RequestError:
    """The error for a key, with its value and what is wrong with that."""
    # If a value may be `auto` or a number, the message for the type that was probably meant says more.
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
    """The keys that a model has below the keys `above`."""
    for part in above:
        hint = _fields(model)[part].annotation if part in _fields(model) else None
        model = next((kind for kind in (hint, *getattr(hint, "__args__", ())) if _fields(kind)), None)
    return list(_fields(model))


def _fields(model: Any) -> dict[str, Any]:
    return getattr(model, "__pydantic_fields__", {})
