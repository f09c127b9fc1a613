"""The table and the picture of docs/results.md: `python -m benchmarks.results DIR`, DIR being a finished search folder.

Rows are the confirmed configurations and baselines, columns are languages: macro-F1 on test sets (`--metric` for
others), mean and standard deviation over the fresh replicates, and the mean as a ratio to that of a baseline: the
constant classifier's, plain fine-tuning's, or the untouched encoder's. `--differences` compares them seed by seed,
`--picture FILE` draws them.
"""

import argparse
import itertools
import json
from pathlib import Path

from seedwise.search.ledger.file import read
from seedwise.search.ledger.state import CONFIRM
from seedwise.search.ranking.summary import summary

BASELINES = (
    "LS",
    "LR",
    "zero",
    "constant",
    "plain",
    "RS",
    "ADV",
    "untouched",
    "MLM",
    "MSE",
)  # the start of their names
LEVELS = ("constant", "plain", "untouched")  # ratios are to the first of them in the search


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR", help="a search folder with a confirmation")
    parser.add_argument("--metric", default="test/macro_f1", help="what is shown (default: test/macro_f1)")
    parser.add_argument("--differences", action="store_true", help="also compare all rows seed by seed")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="also draw it, as SVG or PNG")
    options = parser.parse_args()
    leaderboard = json.loads((options.folder / "leaderboard.json").read_text(encoding="utf-8"))
    names = {row["config_id"]: name_of(row) for row in leaderboard if row["fresh"]}
    rows = [(name_of(row), row["fresh"]["scores"][options.metric]) for row in leaderboard if row["fresh"]]
    languages = list(dict.fromkeys(language for _, scores in rows for language in scores if ":" not in language))
    reference = next(name for name in LEVELS if name in dict(rows))
    level = dict(rows)[reference]
    print(f"| | {' | '.join(languages)} | as a ratio to {reference} |")
    print("|---|" + "---|" * (len(languages) + 1))
    for name, scores in rows:
        cells = [
            f"{scores[column]['mean']:.3f} ± {scores[column]['sd'] or 0:.3f}" if column in scores else ""
            for column in languages
        ]
        ratios = [
            f"{scores[column]['mean'] / level[column]['mean']:.3g}" if column in scores else "-" for column in languages
        ]
        print(f"| {name} | {' | '.join(cells)} | {' / '.join(ratios)} |")
    if options.differences:
        compare(options.folder, names, languages, options.metric)
    if options.picture:
        draw(rows, languages, options.picture, options.metric)


def name_of(row: dict) -> str:
    """The name of a row of the leaderboard in this table."""
    params = row["params"]
    if "push" in params and not row["baseline"]:
        reading = "released" if params.get("attention") == "padded" else "fixed"
        weights = [f"{name} = {params[name]:g}" for name in ("alpha", "beta") if name in params]
        return ", ".join(["EAR", reading, *weights])
    if "alignment" in params and not row["baseline"]:
        name = {"dcca": "DCCA", "mse": "MSE", "none": "MLM only"}[params["alignment"]]
        return f"{name}, {params['static']}" if params.get("static") else name
    tau = f", tau = {params['tau']:g}" if "tau" in params else ""
    return row["baseline"] or params.get("weighting", "k = 1") + tau


def compare(folder: Path, names: dict[str, str], languages: list[str], metric: str) -> None:
    """Mean differences of all pairs of rows on the same replicates, with 95 % intervals of Student's t."""
    runs = {
        key: configuration.of_phase(CONFIRM)
        for key, configuration in read(folder / "ledger.jsonl").configurations.items()
    }
    for (first, name), (second, its_name) in itertools.combinations(names.items(), 2):
        parts = []
        for language in languages:
            scores = [
                {run.replicate: run.metrics.get(f"{metric}/{language}") for run in runs[key]} for key in (first, second)
            ]
            pairs = [(scores[0][number], scores[1].get(number)) for number in scores[0]]
            differences = [a - b for a, b in pairs if a is not None and b is not None]
            if len(differences) > 1:
                of = summary(differences)
                parts.append(f"{language} {of.mean:+.3f} [{of.ci_low:+.3f}, {of.ci_high:+.3f}]")
        print(f"{name} - {its_name}: {'; '.join(parts)}")


def draw(rows: list[tuple[str, dict]], languages: list[str], path: Path, metric: str) -> None:
    """Means with one standard deviation to each side, one panel per language."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "seedwise"  # the same numbers give the same file
    figure, panels = plt.subplots(1, len(languages), figsize=(3.2 * len(languages), 0.32 * len(rows) + 1), sharey=True)
    for panel, language in zip(panels, languages, strict=True):
        for row, (name, scores) in enumerate(reversed(rows)):
            if language in scores:
                own = not name.startswith(BASELINES)
                colour = "tab:blue" if own else "tab:gray"
                panel.errorbar(scores[language]["mean"], row, xerr=scores[language]["sd"] or 0, fmt="o", color=colour)
        panel.set_title(language)
        panel.set_xlim(0, 1)
        panel.grid(axis="x", alpha=0.3)
        panel.set_xlabel(metric)
    panels[0].set_yticks(range(len(rows)), [name for name, _ in reversed(rows)])
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
