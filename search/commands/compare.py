"""Show the leaderboard of a search, or which of several searches is better and by how much."""

import argparse
import math
from pathlib import Path

from rich.console import Console

from seedwise.exit_codes import DONE
from seedwise.search.commands.arguments import add_port, positive
from seedwise.search.commands.conclude import opened


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", type=Path, metavar="DIR", nargs="+", help="search folders")
    parser.add_argument(
        "--format",
        choices=("text", "markdown", "latex", "csv"),
        default="text",
        help="text: the table, and which search is better; others: the table alone, in full (default: text)",
    )
    parser.add_argument("--ui", action="store_true", help="open MLflow's comparison page on the best configurations")
    parser.add_argument("--top", type=positive, default=10, metavar="N", help="how many of each search (default: 10)")
    add_port(parser, "of the server that --ui starts (default: 5000)")


def run(options: argparse.Namespace, console: Console) -> int:
    searches = {}
    for folder in options.folders:
        with opened(folder, "Compare") as (_, results):
            searches[folder] = results
    from seedwise.search.report import compare_table, table
    from seedwise.search.report.compare import compared_searches

    if options.format == "text":
        if len(searches) == 1:
            table.show_leaderboard(*searches.values(), console)
        else:
            compare_table.show(compared_searches(searches), console)
    else:
        if len(searches) == 1:
            (results,) = searches.values()
            rows = results.leaderboard
            whole = table.as_table(rows, results.selection, width=math.inf, most=len(rows))
        else:
            whole = compare_table.as_table(compared_searches(searches), width=math.inf)
        console.out(getattr(whole, options.format)().rstrip("\r\n"), highlight=False)
    if options.ui:
        from seedwise.search.tracking.mlflow_ui import show_comparison

        show_comparison(list(searches.values()), options.top, options.port, console)
    return DONE
