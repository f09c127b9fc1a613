"""Labelled rows out of files and hub data sets, read by the `datasets` library.

Files are streamed: nothing is copied into a cache, so a file that changed is never mistaken for what it was. Data sets
of the hub stay where the hub's own library keeps them, so that what was downloaded once is found without a network.
"""

import contextlib
import csv
import gzip
import json
import tempfile
import warnings
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from seedwise.errors import RequestError
from seedwise.paths import resolved
from seedwise.suggest import nearest

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
JSON = (".json", ".jsonl")
BATCH = 1000


def kind(path: Path) -> str:
    """The suffix that says how a file is read; `.gz` does not count."""
    suffix = Path(path.name.removesuffix(".gz")).suffix
    if suffix not in (*SEPARATORS, *JSON):
        raise RequestError(
            "task.data", f"{path}: cannot tell its format", f"Name it {', '.join((*SEPARATORS, *JSON))}."
        )
    return suffix


def columns_of(path: Path, *, quoted: bool, header: bool = True) -> list[str]:
    """The columns that the first line of a file names, or without a `header` has; none for a JSON file of one list."""
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8-sig", newline="") as file:
            if kind(path) in JSON:
                first = file.readline()
                return [] if first.lstrip().startswith("[") else list(json.loads(first or "{}"))
            quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
            return next(filter(None, csv.reader(file, delimiter=SEPARATORS[kind(path)], quoting=quoting)))
    except StopIteration:
        purpose = "name the columns" if header else "be an example"
        raise RequestError("task.data", f"{path} is empty", f"Its first line should {purpose}.") from None
    except (OSError, EOFError, ValueError, AttributeError, csv.Error, zlib.error) as error:
        raise RequestError("task.data", f"{path}: {_one_line(error)}", "Is it UTF-8 text in that format?") from error


def read_file(path: Path, wanted: list[str], *, columns: list[str], quoted: bool) -> list[list[Any]]:
    """The `wanted` columns of a file. Of a table they are text as it stands there, never a number or a missing value.

    `columns` are the names of a file without a header. Files that are not `quoted` may hold quotes anywhere.
    """
    builder, options = "json", {}
    if kind(path) not in JSON:
        from datasets import Features, Value

        names = columns or columns_of(path, quoted=quoted)
        builder = "csv"
        options = {
            "sep": SEPARATORS[kind(path)],
            "quoting": csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
            "column_names": names,
            "header": None if columns else 0,
            "index_col": False,  # a long first row would otherwise make an index of the first column
            "na_filter": False,
            "keep_default_na": False,
            "encoding": "utf-8-sig",
            "features": Features({name: Value("string") for name in names}),
        }
    with tempfile.TemporaryDirectory() as locks:  # the library locks even what it does not keep
        options |= {"data_files": {"rows": str(path)}, "split": "rows", "cache_dir": locks}
        return _load(str(path), wanted, builder, streaming=True, **options)


def read_hub(name: str, config: str, split: str, wanted: list[str]) -> list[list[Any]]:
    """The `wanted` columns of a data set: a hub id, or a folder in the hub's format. Class numbers become names."""
    where, folder = place(name, config, split), resolved(name)
    try:
        if not folder.is_dir():
            return _load(where, wanted, name, config, split=split)
        with tempfile.TemporaryDirectory() as locks:
            return _load(where, wanted, str(folder), config, split=split, streaming=True, cache_dir=locks)
    except RequestError as error:
        if not isinstance(error.__cause__, ValueError):  # which an unknown configuration is for the library
            raise
        from datasets import get_dataset_config_names

        known = get_dataset_config_names(str(folder) if folder.is_dir() else name)
        if config in known:
            raise
        raise RequestError("task.config", f"{name} has no configuration {config}", nearest(config, known)) from error


def place(name: str, config: str, split: str) -> str:
    """How messages name a split of a hub data set."""
    return f"{name} ({config}, {split})"


def _load(where: str, wanted: list[str], *arguments: Any, **options: Any) -> list[list[Any]]:
    """The `wanted` columns of what `load_dataset` gives. Whatever goes wrong in it becomes one line."""
    import datasets
    from pandas.errors import ParserWarning

    found: list[list[Any]] = [[] for _ in wanted]
    try:
        # A first row with too many fields is a warning there.
        with quiet(), warnings.catch_warnings(action="error", category=ParserWarning):
            rows = datasets.load_dataset(*arguments, **options)
            for batch in rows.iter(BATCH):
                for name, values in zip(wanted, found, strict=True):
                    if name not in batch:
                        raise missing_column(name, where, batch)
                    values += _names(batch[name], (rows.features or {}).get(name))
    except RequestError:
        raise
    except ParserWarning as warning:
        raise RequestError(
            "task.data", f"{where} row 1 has more fields than there are columns", "Correct it."
        ) from warning
    except Exception as error:  # pandas, Arrow, gzip and the hub's client have no error in common
        raise RequestError("task.data", f"{where}: {_one_line(error)}", "Correct it, or name another.") from error
    return found


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """In this block datasets does not log the errors that it raises, nor its progress."""
    import datasets

    before, bars = datasets.logging.get_verbosity(), datasets.are_progress_bars_disabled()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        datasets.logging.set_verbosity(before)
        if not bars:
            datasets.enable_progress_bars()


def _names(values: list, feature: Any) -> list:
    """The names of class numbers, where values are that; -1 is the hub's sign for a row without a label."""
    names = getattr(feature, "names", None)
    return [None if value is None or value < 0 else names[value] for value in values] if names else values


def missing_column(name: str, where: object, columns: Iterable[str]) -> RequestError:
    return RequestError(
        "task.data",
        f"{where} has no column {name!r}",
        f"It has: {', '.join(columns)}. Name it by task.text, task.second (of pairs) or task.label.",
    )


def _one_line(error: BaseException) -> str:
    """What an error says, shortly; the one that the library wrapped says more than the wrapping."""
    text = " ".join(str(error.__cause__ or error).split())
    return (text[:300] or type(error).__name__).rstrip(".")
