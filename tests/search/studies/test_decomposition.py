"""What people read of a decomposition: the file, the tables, and words that claim no more than the intervals allow."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from seedwise.search.ledger.state import State
from seedwise.search.ranking.decomposition import decompose, tables
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.results import Results
from seedwise.search.ranking.selection import Selection
from seedwise.search.studies.decomposition import (
    FILE,
    as_table,
    in_words,
    languages_as_table,
    languages_in_words,
    show,
    write,
)
from seedwise.trainables.streams import STREAMS
from tests.search.hand_written import decomposed, metrics
from tests.search.ranking.test_decomposition import BY_HAND, MOVED, RUNS


@pytest.mark.parametrize("scores", [{"head": [0.1, 0.2]}, {"head": [0.1, 0.2], "all": [0.3, 0.3]}])
def test_without_a_spread_of_all_there_are_no_shares(scores):
    assert all(row["share"] is None for row in decompose(scores))
    assert "of the variance" not in in_words(decompose(scores))


def test_the_sentence_names_the_largest_component_and_those_tied_with_it():
    text = in_words(decompose(BY_HAND))
    assert text.startswith("Most of the spread comes from data order: sd 0.1732, 75 % of the variance of all together.")
    assert "it may as well be head initialisation." in text
    assert "dropout" not in text  # it has no spread
    assert "With 3 replicates the true sd may be up to 6.3 times the one shown." in text  # sqrt(2 / 0.0506)
    assert "need not add up to 100 %" in text


def test_the_sentence_is_certain_where_the_numbers_are():
    draw = np.random.default_rng(2)
    clear = {stream: draw.normal(0, sd, 50) for stream, sd in {"all": 0.03, "head": 0.03, "order": 0.003}.items()}
    assert "may as well" not in in_words(decompose(clear))


@pytest.mark.parametrize(
    ("scores", "start"),
    [
        ({}, "No stream was varied alone"),
        ({"all": [0.1, 0.2], "head": [0.3]}, "No stream was varied alone"),
        ({"all": [0.1, 0.2], "head": [0.3, 0.3]}, "No stream changes the score"),
    ],
)
def test_the_sentence_claims_nothing_without_a_spread(scores, start):
    assert in_words(decompose(scores)).startswith(start)


def test_the_table_fits_a_terminal():
    console = Console(file=io.StringIO(), width=80)
    console.print(as_table(decompose(BY_HAND)))
    lines = console.file.getvalue().splitlines()
    assert "0.1732" in next(line for line in lines if "data order" in line)
    assert next(line for line in lines if "choice of anchors" in line).split()[-4:] == ["1", "-", "-", "-"]


def test_a_decomposition_groups_runs_by_the_varied_stream_and_leaves_out_failures():
    state = State()
    state.apply(
        {"event": "search", "specification": {"select": {"metric": "value", "on": "metric", "aggregate": "mean"}}}
    )
    for ask, (stream, values) in enumerate(BY_HAND.items()):
        key = {"config_id": stream}
        state.apply({"event": "ask", **key, "params": {}, "ask": ask, "vary": None if stream == "all" else stream})
        for replicate, value in enumerate([*values, 9.0]):
            run = {**key, "replicate": replicate, "phase": "search"}
            status = "failed:nan" if value == 9.0 else "done"
            state.apply({"event": "start", **run})
            state.apply(
                {
                    "event": "result",
                    **run,
                    "status": status,
                    "metrics": {"value": value},
                    "seconds": 1.0,
                    "step": 1,
                    "error": "",
                }
            )
    text = printed(Results(state, Estimator(Selection.from_specification(state.specification))), width=80)
    assert in_words(decompose(BY_HAND)) + " Left out: 5 failed runs." in text
    assert "75 %" in next(line for line in text.splitlines() if "data order" in line)


def printed(results: Results, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width)
    show(results, console)
    return console.file.getvalue()


def test_the_file_has_a_row_per_stream_as_before_and_its_languages_below(tmp_path):
    results = decomposed(RUNS).results
    write(results, tmp_path)
    rows = json.loads((tmp_path / FILE).read_text())
    by_metric = tables(results)
    before = {"stream", "sd", "variance", "share", "ci_low", "ci_high", "n"}
    assert all(row.keys() == before | {"of", "languages"} for row in rows)
    assert [{name: row[name] for name in row if name != "languages"} for row in rows] == by_metric["score"]
    flat = pd.json_normalize(rows, "languages").set_index(["language", "stream"])
    assert flat.index.is_unique
    assert flat.loc[("qor", "order"), "metric"] == "dev/macro_f1/qor"
    for position, language in enumerate(("qel", "qan", "qor")):
        for stream, replicates in MOVED.items():
            spread = np.std([scores[position] for scores in replicates], ddof=1)
            assert flat.loc[(language, stream), "sd"] == pytest.approx(spread, abs=1e-12)


def test_the_terminal_shows_both_tables_with_the_streams_in_one_order():
    lines = printed(decomposed(RUNS).results).splitlines()
    head = next(line for line in lines if line.split()[:1] == ["language"])
    assert head.split() == ["language", "all", "head", "dropout", "order", "runs"]
    assert next(line for line in lines if line.split()[:1] == ["qor"]).split()[1:] == [
        *(
            f"{np.std([scores[2] for scores in MOVED[stream]], ddof=1):.4f}"
            for stream in ("all", "head", "dropout", "order")
        ),
        "15",
    ]
    assert next(line for line in lines if line.split()[:1] == ["qan"]).split()[-2] == "0.0000"


def test_runs_without_a_score_are_counted_beside_those_with_one():
    search = decomposed({"all": RUNS["all"], "order": [*RUNS["order"], None]})
    search.run("c-order", 5, metrics("dev", 0.2, 0.3), status="failed:collapsed")
    text = printed(search.results)
    assert "5 of 6" in next(line for line in text.splitlines() if line.strip().startswith("data order"))
    assert "Left out: 1 failed run." in text
    assert next(line for line in text.splitlines() if line.strip().startswith("qan")).endswith("9 of 10 ")
    assert next(line for line in text.splitlines() if line.strip().startswith("qor")).endswith("8 of 10 ")


def test_a_score_without_languages_has_one_table():
    state = decomposed({"all": [{"value": 0.1}, {"value": 0.3}], "head": [{"value": 0.1}] * 2}).state
    text = printed(Results(state, Estimator(Selection("value", "metric", "mean", "", ()))))
    assert "No stream changes the score" in text
    assert "language" not in text


def test_all_streams_and_long_names_of_languages_fit_a_hundred_columns():
    rows = [row | {"of": 8} for row in decompose({stream: [0.1, 0.2] for stream in ("all", *STREAMS)})]
    console = Console(file=io.StringIO(), width=100)
    console.print(languages_as_table({"test fra_Latn:eng_Latn": rows}, "macro_f1"))
    text = console.file.getvalue()
    assert all(stream in text for stream in STREAMS)
    assert "test fra_Latn:eng_Latn" in text
    assert "16 of 64" in text
    assert "…" not in text


CLEAR = {"all": (0.0, 0.3), "order": (0.0, 0.3), "head": (0.1, 0.101), "dropout": (0.2, 0.201)}


def spread_of(values: dict[str, tuple[float, float]], n: int = 50) -> list[dict]:
    """Rows of streams with `n` replicates, which alternate between two values."""
    return decompose({stream: [*pair] * (n // 2) for stream, pair in values.items()})


def test_the_words_say_which_stream_moves_which_language_most():
    other = CLEAR | {"order": CLEAR["head"], "head": CLEAR["order"]}
    text = languages_in_words({"qor": spread_of(CLEAR), "qan": spread_of(other), "qel": spread_of(CLEAR)})
    sd = np.std([0.0, 0.3] * 25, ddof=1)
    of_each = f"(sd {sd:.4f}, share 100 %)"
    assert text == (
        f"Data order moves qor {of_each} and qel {of_each} most; head initialisation moves qan {of_each} most."
    )


def test_the_words_say_where_another_stream_may_move_a_language_as_much():
    close = CLEAR | {"head": (0.0, 0.28)}
    text = languages_in_words({"qor": spread_of(CLEAR), "qan": spread_of(close)})
    assert text.endswith(" The intervals overlap in qan: there it may as well be another stream.")
    text = languages_in_words({"qor": spread_of(close), "qan": spread_of(close)})
    assert text.endswith(" The intervals overlap in every language: there it may as well be another stream.")


def test_the_words_claim_nothing_about_a_language_that_no_stream_moves_or_that_has_no_spread():
    still = decompose({"all": [0.1, 0.2], "head": [0.1, 0.1]})
    assert languages_in_words({"qor": still}) == "No stream changes qor when it varies alone."
    unknown = languages_in_words({"qor": decompose({"all": [0.1, 0.2], "head": [0.1]})})
    assert unknown.startswith("No stream was varied alone in two replicates or more")


def test_the_words_name_a_few_of_many_languages():
    text = languages_in_words({f"l{number:02}": spread_of(CLEAR) for number in range(40)})
    assert "l04" in text
    assert "l05" not in text
    assert "and 35 more most." in text


def test_languages_of_several_splits_are_told_apart():
    both = [one | {name.replace("dev", "test"): 0.5 for name in one} for one in RUNS["all"]]
    assert "dev qel" in (text := printed(decomposed({"all": both, "head": both}).results))
    assert "test qor" in text
