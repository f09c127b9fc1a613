"""Comparisons of searches, against scipy's tests and numbers by hand."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scipy import stats

from seedwise.search.commands.main import main
from seedwise.search.ranking import difference
from seedwise.search.report.compare import ComparedSearch, pairs
from seedwise.search.report.compare_table import as_table
from seedwise.search.spec.load import from_dict
from tests.search.drawing.test_table import latex_rows, markdown_cells
from tests.search.hand_written import HandWritten, demo, metrics, specification
from tests.search.studies.test_search import SPECIFICATION

FIRST = [(0.80, 0.61, 0.42), (0.83, 0.66, 0.45), (0.79, 0.60, 0.38), (0.82, 0.67, 0.46)]
SECOND = [(0.79, 0.51, 0.40), (0.83, 0.58, 0.46), (0.78, 0.49, 0.36), (0.80, 0.60, 0.47)]


def confirmed(name, scores, *changes, checksums=None, metric="macro_f1"):
    """A search whose one configuration has these test scores on fresh seeds; None is a run that failed."""
    search = HandWritten(specification("replicates.surrogate=false", *changes), checksums, name)
    search.ask("only", k=50, weighting="standard")
    search.run("only", 0, metrics("dev", 0.7, 0.6, 0.5, metric=metric))
    search.freeze("only")
    for replicate, of_run in enumerate(scores, start=1000):
        values = of_run and metrics("dev", *of_run, metric=metric) | metrics("test", *of_run, metric=metric)
        search.run("only", replicate, values)
    return ComparedSearch(name, search.results)


def only(first, second):
    (pair,) = pairs([first, second])
    return pair


def by_language(pair):
    return {statement.on: statement for statement in pair.statements}


def test_searches_with_one_seed_are_compared_seed_by_seed():
    pair = only(confirmed("a", FIRST), confirmed("b", SECOND))
    assert pair.notes == []
    assert pair.measure.label == "macro_f1 on test, fresh seeds"
    columns = {"qel": [0], "qan": [1], "qor": [2], "the mean of 2 targets": [1, 2]}
    assert by_language(pair).keys() == columns.keys()
    for on, places in columns.items():
        first, second = (np.array(scores)[:, places].mean(1) for scores in (FIRST, SECOND))
        interval = stats.ttest_rel(first, second).confidence_interval(0.95)
        statement = by_language(pair)[on]
        assert statement.paired
        assert statement.n == (4, 4)
        assert (statement.low, statement.high) == pytest.approx((interval.low, interval.high))
        assert statement.difference == pytest.approx(first.mean() - second.mean())
    assert by_language(pair)["qan"].verdict == "better"
    assert by_language(pair)["qor"].verdict == "cannot be told apart"


@pytest.mark.parametrize(
    ("changes", "checksums", "note"),
    [
        (["seed=7"], None, "their search seeds differ (0 and 7), so no replicate is shared"),
        ([], {"task.data": "e" * 64}, "task.data differ (dddddddddd and eeeeeeeeee): other files or other languages"),
    ],
)
def test_other_seeds_or_other_data_are_two_samples(changes, checksums, note):
    other = SECOND[:3]
    pair = only(confirmed("a", FIRST), confirmed("b", other, *changes, checksums=checksums))
    assert len(pair.notes) == 1
    assert pair.notes[0].startswith(note)
    first, second = np.array(FIRST)[:, 1], np.array(other)[:, 1]
    interval = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    statement = by_language(pair)["qan"]
    assert not statement.paired
    assert statement.n == (4, 3)
    assert (statement.low, statement.high) == pytest.approx((interval.low, interval.high))
    assert "4 and 3 seeds, not paired" in statement.in_words()


def test_sentences_say_who_by_how_much_and_on_what():
    """On qan the differences are 0.10, 0.08, 0.11, 0.07: mean 0.09, sd 0.01826, and 3.182 * 0.01826 / 2 is 0.029."""
    words = [statement.in_words() for statement in only(confirmed("a", FIRST), confirmed("b", SECOND)).statements]
    assert words[1] == "a is better than b by 0.090 [0.061, 0.119] on qan (4 shared seeds, paired)"
    assert words[2].startswith("a and b cannot be told apart on qor: +0.005 [-0.023, +0.033]")
    turned = [statement.in_words() for statement in only(confirmed("b", SECOND), confirmed("a", FIRST)).statements]
    assert turned[1] == "b is worse than a by 0.090 [0.061, 0.119] on qan (4 shared seeds, paired)"


score = st.floats(0, 1, allow_nan=False)
runs = st.lists(st.tuples(score, score, score), min_size=2, max_size=5)


@given(runs, runs, st.booleans())
def test_turning_a_pair_around_turns_the_difference_around(first, second, shared):
    there = confirmed("a", first), confirmed("b", second, *([] if shared else ["seed=1"]))
    opposite = {"better": "worse", "worse": "better"}
    for statement, turned in zip(only(*there).statements, only(*reversed(there)).statements, strict=True):
        assert turned.difference == pytest.approx(-statement.difference)
        assert turned.verdict == opposite.get(statement.verdict, statement.verdict)
        if statement.verdict != "unknown":
            assert (turned.low, turned.high) == pytest.approx((-statement.high, -statement.low))
            assert statement.low <= statement.difference <= statement.high


def test_one_seed_has_no_spread():
    pair = only(confirmed("a", FIRST), confirmed("b", SECOND[:1]))
    assert {statement.verdict for statement in pair.statements} == {"unknown"}
    expected = "a and b cannot be compared on qel, since a spread needs two seeds, but they have 1 in common"
    assert pair.statements[0].in_words() == expected


def test_without_spread_a_difference_cannot_be_judged():
    first, second = [(0.5, 0.5, 0.8), (0.5, 0.5, 0.7)], [(0.5, 0.25, 0.7), (0.5, 0.25, 0.6)]
    for changes, seeds in (([], "2 shared seeds, paired"), (["seed=1"], "2 and 2 seeds, not paired")):
        statements = by_language(only(confirmed("a", first), confirmed("b", second, *changes)))
        assert (statements["qan"].difference, statements["qan"].low) == (0.25, None)
        assert statements["qan"].verdict == "unknown"
        said = f"a and b cannot be compared on qan, since the seeds show no spread: +0.250 ({seeds})"
        assert statements["qan"].in_words() == said
        assert statements["qel"].verdict == "cannot be told apart"
        assert statements["qel"].in_words() == f"a and b cannot be told apart on qel: +0.000 [+0.000, +0.000] ({seeds})"
    # 0.8 - 0.7 and 0.7 - 0.6 are equal but for rounding
    paired = by_language(only(confirmed("a", first), confirmed("b", second)))
    assert paired["qor"].verdict == "unknown"


def test_a_failed_run_counts_as_the_worst_score_and_is_said():
    statement = by_language(only(confirmed("a", FIRST), confirmed("b", [*SECOND[:3], None])))["qan"]
    first, second = np.array(FIRST)[:, 1], np.array([0.51, 0.58, 0.49, 0.0])
    interval = stats.ttest_rel(first, second).confidence_interval(0.95)
    assert (statement.low, statement.high) == pytest.approx((interval.low, interval.high))
    assert "(4 shared seeds, paired; 1 failed, counted as the worst score)" in statement.in_words()


def test_the_first_searchs_metric_is_compared_where_both_report_it():
    by_accuracy = confirmed("b", SECOND, "select.metric=accuracy")
    pair = only(confirmed("a", FIRST), by_accuracy)
    assert pair.measure.metric == "macro_f1"
    assert pair.notes == ["they select by different metrics; both report macro_f1"]
    nothing = only(confirmed("a", FIRST), confirmed("b", SECOND, metric="accuracy"))
    assert nothing.statements[0].in_words().startswith("a and b cannot be compared, since they report no common metric")


def test_an_oracle_says_so_in_the_table_and_in_every_sentence():
    searches = [confirmed("a", FIRST, "select.on=target_dev"), confirmed("b", SECOND)]
    assert all("a (oracle)" in statement.in_words() for statement in only(*searches).statements)
    assert as_table(searches, width=200).sections[0][0][2].endswith("oracle")


def test_before_the_confirmation_dev_scores_of_the_search_are_compared():
    search = HandWritten(specification(), name="b")
    search.ask("only", k=50, weighting="standard")
    for replicate, of_run in enumerate(SECOND):
        search.run("only", replicate, metrics("dev", *of_run))
    pair = only(confirmed("a", FIRST), ComparedSearch("b", search.results))
    assert pair.measure.label == "macro_f1 on dev, seeds of the search"
    assert pair.notes == ["not all are confirmed: these scores made the choice, so they are optimistic"]
    assert by_language(pair)["qel"].n == (1, 1)  # both have only replicate 0


def test_rows_are_the_chosen_configuration_and_the_best_baselines():
    table = as_table([ComparedSearch("demo", demo().results)], width=140)
    assert table.title == "mean ± sd of macro_f1 on test, fresh seeds"
    ((chosen, baseline),) = table.sections
    columns = [column.name for column in table.columns]
    assert columns == ["search", "method", "selected by", "parameters", "n", "qel", "qan", "qor"]
    scores = np.array([0.75, 0.72, 0.74])
    assert chosen[:2] == ["demo good", "stitching"]
    assert "tau=0.1" in chosen[3]
    assert chosen[4:6] == ["3", f"{scores.mean():.3f} ± {scores.std(ddof=1):.3f}"]
    assert baseline[:4] == ["", "", "", "baseline: constant"]
    assert baseline[6] == "0.100 ± 0.000"


@pytest.mark.parametrize("width", [80, 140])
def test_the_table_fits_its_terminal(width):
    searches = [ComparedSearch(name, demo(name=name).results) for name in ("demo", "again")]
    console = Console(width=width, file=io.StringIO())
    console.print(as_table(searches, width=width))
    text = console.file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert ("0.737 ± 0.015" in text) == (width == 140)
    for word in ("demo", "again", "0.737", "stitching", "macro_f1 on source_dev", "qor"):
        assert word in text


def test_the_command_compares_and_says_how_many_pairs(tmp_path, capsys):
    folders = [str(demo(f"seed={seed}", name=f"s{seed}").write(tmp_path / f"s{seed}")) for seed in (0, 1, 2)]
    assert main(["compare", *folders]) == 0
    output = capsys.readouterr().out
    assert "s0 and s1 cannot be told apart on qan: +0.000" in output
    assert "3 pairs, 12 comparisons; intervals are 95 %, Student's t, and not corrected for their number." in output


def table_as(format, capsys, *folders):
    assert main(["compare", *map(str, folders), "--format", format]) == 0
    return capsys.readouterr().out


def test_the_whole_table_is_csv_markdown_and_latex(tmp_path, capsys):
    """The same cells in each format at any terminal width, for several searches and for a leaderboard."""
    first, second = (demo(name=name).write(tmp_path / name) for name in ("one", "two"))
    for folders in ([first, second], [first]):
        head, *rows = csv.reader(io.StringIO(table_as("csv", capsys, *folders), newline=""))
        assert all(len(row) == len(head) for row in rows)
        markdown = table_as("markdown", capsys, *folders).splitlines()
        assert [markdown_cells(line) for line in (markdown[0], *markdown[2:])] == [head, *rows]
        latex = table_as("latex", capsys, *folders)
        assert latex_rows(latex) == [head, *rows]
    assert head[0] == "configuration"
    assert len(rows) == 6  # all configurations, and the best of each baseline
    assert latex.startswith("\\begin{table}\n")
    assert "ranked by the estimate of macro\\_f1 on source\\_dev" in latex


def test_two_searches_of_one_name_are_called_by_their_folders(tmp_path, capsys):
    folders = [str(demo().write(tmp_path / name)) for name in ("x", "y")]
    assert main(["compare", *folders]) == 0
    assert f"{folders[0]} and {folders[1]} cannot be told apart on qel" in capsys.readouterr().out


def test_comparing_one_search_shows_its_leaderboard(tmp_path, capsys):
    assert main(["compare", str(demo().write(tmp_path))]) == 0
    output = capsys.readouterr().out
    assert "ranked by the estimate of macro_f1 on source_dev" in output
    assert "5 configurations, 21 runs: the budget is spent." in output


def test_wrong_folders_are_one_line(tmp_path, capsys):
    good = str(demo().write(tmp_path / "good"))
    assert main(["compare", good, str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err.endswith(
        "nowhere: there is no search here. Name the folder that has its ledger.jsonl.\n"
    )
    empty = HandWritten(specification()).write(tmp_path / "empty")
    assert main(["compare", good, str(empty)]) == 2
    assert "no run has finished yet" in capsys.readouterr().err


def test_a_method_without_a_task_is_compared_by_its_metric():
    resolved = from_dict({**SPECIFICATION, "sampler": "random"}).as_dict()
    searches = []
    for name, scores in {"a": (0.5, 0.7, 0.6), "b": (0.4, 0.6, 0.4)}.items():
        search = HandWritten(resolved, {}, name)
        search.ask("only", x=0.5)
        for replicate, value in enumerate(scores):
            search.run("only", replicate, {"value": value})
        searches.append(ComparedSearch(name, search.results))
    assert only(*searches).measure.label == "value, seeds of the search"
    (statement,) = only(*searches).statements
    interval = stats.ttest_rel((0.5, 0.7, 0.6), (0.4, 0.6, 0.4)).confidence_interval(0.95)
    assert (statement.low, statement.high) == pytest.approx((interval.low, interval.high))
    assert statement.in_words().startswith("a and b cannot be told apart: +0.133 [")
    console = Console(width=140, file=io.StringIO())
    console.print(as_table(searches, width=140))
    assert "0.600 ± 0.100" in console.file.getvalue()


def test_a_choice_that_always_fails_counts_as_the_worst_score():
    search = HandWritten(specification(), name="b")
    search.ask("only", k=50, weighting="standard")
    search.ask("other", k=1)
    search.freeze("only", "other")
    for replicate in (1000, 1001):
        search.run("only", replicate, None)
        search.run("other", replicate, metrics("dev", 0.4, 0.3, 0.2) | metrics("test", 0.4, 0.3, 0.2))
    search.run("only", 0, metrics("dev", 0.7, 0.6, 0.5))
    statement = by_language(only(confirmed("a", FIRST), ComparedSearch("b", search.results)))["qan"]
    assert statement.difference == pytest.approx(
        (0.61 + 0.66) / 2 - 0.0
    )  # the others' 0.3 twice: their range is 0.3 - 0
    assert "2 failed, counted as the worst score" in statement.in_words()


def test_scores_between_0_and_1_differ_by_1_at_most():
    """Two seeds once gave a difference of F1 of '+0.215 [-2.771, +3.201]'."""
    pair = ({0: 0.9, 1: 0.5}, {0: 0.45, 1: 0.52})
    free = difference.statement("a", "b", "", *pair, paired=True, failed=0)
    assert (free.low, free.high) == pytest.approx((-2.771, 3.201), abs=1e-3)
    bounded = difference.statement("a", "b", "", *pair, paired=True, failed=0, bounds=(0.0, 1.0))
    assert (bounded.difference, bounded.low, bounded.high) == pytest.approx((0.215, -1.0, 1.0))
