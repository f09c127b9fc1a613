"""Show a decomposition: its file, its tables, and sentences on which stream of randomness moves which score."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from scipy.special import chdtri

from seedwise.files import write_atomically
from seedwise.search.drawing.table import Cells, Column, Table
from seedwise.search.ranking.decomposition import ALL, CONFIDENCE, SCORE, tables
from seedwise.search.ranking.results import Results

FILE = "decomposition.json"
NAMES = {"head": "head initialisation", "order": "data order", "anchors": "choice of anchors", ALL: "all together"}
NAMED = 5  # languages that a list in a sentence names; it counts the rest


def write(results: Results, folder: Path) -> None:
    """Write decomposition.json: where the spread of a configuration comes from, one row per stream.

    A row is about the score that ranks. Its `languages` are the stream's rows for every metric in every language.
    """
    by_metric = tables(results)
    rows = by_metric.pop(SCORE)
    for index, row in enumerate(rows):
        row["languages"] = [
            {"metric": metric, "language": metric.split("/")[2], **table[index]} for metric, table in by_metric.items()
        ]
    write_atomically(folder / FILE, json.dumps(rows, indent=1) + "\n")


def show(results: Results, console: Console) -> None:
    """Print the spread of the score that ranks, then of its metric by language, each as a table and in sentences."""
    by_metric = tables(results)
    rows = by_metric.pop(SCORE)
    failed = sum(row["of"] - row["n"] for row in rows)
    console.print(as_table(rows))
    console.print(
        in_words(rows) + (f" Left out: {failed} failed run{'s' * (failed > 1)}." if failed else ""), soft_wrap=True
    )
    if by_metric:
        of_languages = named(by_metric)
        console.print(languages_as_table(of_languages, results.metric))
        console.print(languages_in_words(of_languages), soft_wrap=True)


def in_words(rows: Sequence[dict]) -> str:
    """Sentences on which stream causes most of the spread, which others may cause as much, and how sure that is."""
    known = [row for row in rows if row["sd"] is not None]
    single = alone(rows)
    if not single:
        return "No stream was varied alone in two replicates or more, so the source of the spread is unknown."
    most, rivals = single[0], rivals_of(single)
    if most["sd"] == 0:
        return "No stream changes the score when it varies alone."
    share = "" if most["share"] is None else f", {percent(most['share'])} of the variance of all together"
    sentences = [f"Most of the spread comes from {name(most['stream'])}: sd {most['sd']:.4f}{share}."]
    if rivals:
        sentences.append(f"The intervals overlap: it may as well be {' or '.join(rivals)}.")
    fewest = min(known, key=lambda row: row["n"])["n"]
    factor = ((fewest - 1) / chdtri(fewest - 1, (1 + CONFIDENCE) / 2)) ** 0.5
    sentences.append(f"With {fewest} replicates the true sd may be up to {factor:.1f} times the one shown.")
    sentences.append(
        "Shares need not add up to 100 %: streams interact, and each varied alone while the others stayed fixed."
    )
    return " ".join(sentences)


def alone(rows: Sequence[dict]) -> list[dict]:
    """The rows of single streams whose sd is known, the largest sd first."""
    return sorted((row for row in rows if row["sd"] is not None and row["stream"] != ALL), key=lambda row: -row["sd"])


def rivals_of(single: Sequence[dict]) -> list[str]:
    """Names of the streams that may move a score as much as the first of `single`: their intervals overlap."""
    return [name(row["stream"]) for row in single[1:] if row["ci_high"] >= single[0]["ci_low"]]


def languages_in_words(of_languages: Mapping[str, Sequence[dict]]) -> str:
    """Sentences on which stream moves each language most, and in which languages another may move it as much."""
    moved: dict[str, list[str]] = {}  # by stream
    unsure, still = [], []
    for language, rows in of_languages.items():
        single = alone(rows)
        if not single:
            continue
        most = single[0]
        if most["sd"] == 0:
            still.append(language)
            continue
        share = "" if most["share"] is None else f", share {percent(most['share'])}"
        moved.setdefault(most["stream"], []).append(f"{language} (sd {most['sd']:.4f}{share})")
        if rivals_of(single):
            unsure.append(language)
    if not moved and not still:
        return "No stream was varied alone in two replicates or more, so what moves which language is unknown."
    sentences = []
    if moved:
        most_of_each = "; ".join(
            f"{name(stream)} moves {_listed(languages)} most" for stream, languages in moved.items()
        )
        sentences.append(f"{most_of_each[0].upper()}{most_of_each[1:]}.")
    if unsure:
        count = sum(map(len, moved.values()))
        where = _listed(unsure) if len(unsure) < count else "every language" if count > 1 else unsure[0]
        sentences.append(f"The intervals overlap in {where}: there it may as well be another stream.")
    if still:
        sentences.append(f"No stream changes {_listed(still)} when it varies alone.")
    return " ".join(sentences)


def _listed(texts: Sequence[str]) -> str:
    """The first `NAMED` of these texts as a list in a sentence, with the number of the rest."""
    shown, more = list(texts[:NAMED]), len(texts) - NAMED
    shown += [f"{more} more"] if more > 0 else []
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def named(by_metric: Mapping[str, Sequence[dict]]) -> dict[str, Sequence[dict]]:
    """The rows by language, or by split and language if there are several splits."""
    parts = {metric: metric.split("/") for metric in by_metric}
    several = len({split for split, _, _ in parts.values()}) > 1
    return {
        f"{split} {language}" if several else language: by_metric[metric]
        for metric, (split, _, language) in parts.items()
    }


def as_table(rows: Sequence[dict]) -> Table:
    cells: list[Cells] = [
        (Column("varied"), lambda row: name(row["stream"])),
        (Column("n", number=True), lambda row: _count(row["n"], row.get("of", row["n"]))),
        (Column("sd", number=True), _sd),
        (Column("95 % interval", number=True), _interval),
        (Column("share of variance", number=True), lambda row: "-" if row["share"] is None else percent(row["share"])),
    ]
    return Table.of(cells, [rows], title="spread of the score by source of randomness")


def languages_as_table(of_languages: Mapping[str, Sequence[dict]], metric: str) -> Table:
    """A row for each language and a column for each stream, by its short name: ten columns fit a terminal."""
    streams = [row["stream"] for row in next(iter(of_languages.values()))]
    cells: list[Cells] = [
        (Column("language"), lambda item: item[0]),
        *(
            (Column(stream, number=True), lambda item, index=index: _sd(item[1][index]))
            for index, stream in enumerate(streams)
        ),
        (Column("runs", number=True), lambda item: _count(*(sum(row[key] for row in item[1]) for key in ("n", "of")))),
    ]
    return Table.of(cells, [list(of_languages.items())], title=f"sd of {metric} by language")


def _sd(row: dict) -> str:
    return "-" if row["sd"] is None else f"{row['sd']:.4f}"


def _count(n: int, of: int) -> str:
    """How many runs have a score, such as `5`, or `4 of 5` if some have none."""
    return str(n) if n == of else f"{n} of {of}"


def _interval(row: dict) -> str:
    return "-" if row["ci_low"] is None else f"{row['ci_low']:.4f} .. {row['ci_high']:.4f}"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def name(stream: str) -> str:
    """A readable name for a stream."""
    return NAMES.get(stream, stream)
