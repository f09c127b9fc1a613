"""Labelled rows from files (by pandas and json) and from data sets of the hub (by the `datasets` library).

Local data is never cached, so a changed file is never mistaken for its former content. Data sets of the hub are cached
by the hub's own library: once downloaded, they need no network.
"""

import contextlib
import csv
import gzip
import json
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from seedwise.errors import RequestError, nearest
from seedwise.paths import resolved

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
JSON = (".json", ".jsonl")
TOO_MANY_FIELDS = "row 1 has more fields than there are columns"  # a warning of pandas, in plainer words
BATCH = 1000  # rows of a hub data set that are converted together


def data_error(problem: str, fix: str) -> RequestError:
    return RequestError("task.data", problem, fix)


def is_json(path: Path) -> bool:
    return _suffix(path) in JSON


def first_row(path: Path, *, quoted: bool) -> list[str]:
    """The fields of a file's first line, or its keys if the file is JSON; [] for a JSON file that is a single list."""
    opener = gzip.open if path.suffix == ".gz" else open
    with (
        _one_line_errors(path, "Is it UTF-8 text in that format?"),
        opener(path, "rt", encoding="utf-8-sig", newline="") as file,
    ):
        if is_json(path):
            first = file.readline()
            return [] if first.lstrip().startswith("[") else list(json.loads(first or "{}"))
        rows = csv.reader(file, delimiter=SEPARATORS[_suffix(path)], quoting=_quoting(path, quoted=quoted))
        if first := next(filter(None, rows), None):
            return first
        raise data_error(f"{path} is empty", "Add examples, or name another file.")


def read_file(path: Path, wanted: list[str], *, columns: list[str], quoted: bool) -> list[list[Any]]:
    """The `wanted` columns of a file. Fields of a table stay text: none becomes a number or a missing value.

    `columns` names the columns of a table without a header. In a table that is not `quoted`, quotes are ordinary
    characters; .csv files are always quoted.
    """
    import pandas as pd

    with (
        _one_line_errors(path, "Correct it, or name another."),
        warnings.catch_warnings(action="error", category=pd.errors.ParserWarning),
    ):
        if is_json(path):
            is_list = not first_row(path, quoted=False)
            table = pd.read_json(
                path, lines=not is_list, dtype=False, convert_dates=False, precise_float=True, encoding="utf-8-sig"
            )
        else:
            table = pd.read_csv(
                path,
                sep=SEPARATORS[_suffix(path)],
                quoting=_quoting(path, quoted=quoted),
                names=columns or None,
                header=None if columns else 0,
                index_col=False,  # otherwise, a long first row makes the first column an index
                dtype=str,
                na_filter=False,
                encoding="utf-8-sig",
            )
        return [_column(name, table, path).tolist() for name in wanted]


def read_hub(name: str, config: str, split: str, wanted: list[str]) -> list[list[Any]]:
    """The `wanted` columns of the data set `name`, a hub id or a folder in its format. Class numbers become names."""
    import datasets

    origin, folder = hub_split(name, config, split), resolved(name)
    columns: list[list[Any]] = [[] for _ in wanted]
    # A folder is streamed into a temporary cache: the library locks files even in a cache that it does not fill.
    with tempfile.TemporaryDirectory() as cache, _quiet(), _one_line_errors(origin, "Correct it, or name another."):
        is_folder = folder.is_dir()
        source, options = (str(folder), {"streaming": True, "cache_dir": cache}) if is_folder else (name, {})
        try:
            rows = datasets.load_dataset(source, config, split=split, **options)
        except ValueError:  # raised for an unknown configuration, among others
            known = datasets.get_dataset_config_names(source)
            if config in known:
                raise
            raise RequestError("task.config", f"{name} has no configuration {config}", nearest(config, known)) from None
        for batch in rows.iter(BATCH):
            for column, values in zip(wanted, columns, strict=True):
                values += _class_names(_column(column, batch, origin), (rows.features or {}).get(column))
    return columns


def hub_split(name: str, config: str, split: str) -> str:
    """The name of a hub data set's split, for messages."""
    return f"{name} ({config}, {split})"


def missing_column(name: str, origin: object, columns: Iterable[str]) -> RequestError:
    return data_error(
        f"{origin} has no column {name!r}",
        f"It has: {', '.join(columns)}. Name it by task.text, task.second (for pairs) or task.label.",
    )


def _column(name: str, table: Any, origin: object) -> Any:
    if name not in table:
        raise missing_column(name, origin, table)
    return table[name]


def _suffix(path: Path) -> str:
    """The suffix that determines the format; `.gz` is ignored."""
    suffix = Path(path.name.removesuffix(".gz")).suffix
    if suffix not in (*SEPARATORS, *JSON):
        raise data_error(f"{path}: cannot tell its format", f"Name it {', '.join((*SEPARATORS, *JSON))}.")
    return suffix


def _quoting(path: Path, *, quoted: bool) -> int:
    return csv.QUOTE_MINIMAL if quoted or _suffix(path) == ".csv" else csv.QUOTE_NONE


@contextlib.contextmanager
def _one_line_errors(origin: object, fix: str) -> Iterator[None]:
    """Turn any error in this block into a RequestError of one line."""
    try:
        yield
    except RequestError:
        raise
    except Exception as error:  # pandas, Arrow, gzip and the hub's client have no error in common
        text = " ".join(str(error.__cause__ or error).split())[:300] or type(error).__name__  # a cause says more
        text = TOO_MANY_FIELDS if text.startswith("Length of header or names") else text
        raise data_error(f"{origin}: {text.rstrip('.')}", fix) from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """In this block, `datasets` logs neither its progress nor the errors it raises."""
    import datasets

    verbosity, bars_disabled = datasets.logging.get_verbosity(), datasets.are_progress_bars_disabled()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        datasets.logging.set_verbosity(verbosity)
        if not bars_disabled:
            datasets.enable_progress_bars()


def _class_names(values: list, feature: Any) -> list:
    """Replace class numbers by names if the column's feature has names; on the hub, -1 marks a missing label."""
    names = getattr(feature, "names", None)
    return [None if value is None or value < 0 else names[value] for value in values] if names else values
