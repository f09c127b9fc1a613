"""The table and the picture of docs/results.md: `python -m benchmarks.results DIR`, DIR being a finished search folder.

Rows are the confirmed configurations and baselines (`constant` must be among them), columns are languages: macro-F1 on
test sets, mean and standard deviation over the fresh replicates, and the mean as a ratio to the constant classifier's.
`--picture FILE` draws them too.
"""

import argparse
import json
from pathlib import Path

METRIC = "test/macro_f1"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR", help="a search folder with a confirmation")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="also draw it, as SVG or PNG")
    options = parser.parse_args()
    rows = confirmed(json.loads((options.folder / "leaderboard.json").read_text(encoding="utf-8")))
    languages = list(dict.fromkeys(language for _, scores in rows for language in scores if ":" not in language))
    level = dict(rows)["constant"]
    print(f"| | {' | '.join(languages)} | as a ratio to constant |")
    print("|---|" + "---|" * (len(languages) + 1))
    for name, scores in rows:
        cells = [
            f"{scores[one]['mean']:.3f} ± {scores[one]['sd'] or 0:.3f}" if one in scores else "" for one in languages
        ]
        ratios = [f"{scores[one]['mean'] / level[one]['mean']:.1f}" if one in scores else "-" for one in languages]
        print(f"| {name} | {' | '.join(cells)} | {' / '.join(ratios)} |")
    if options.picture:
        draw(rows, languages, options.picture)


def confirmed(leaderboard: list[dict]) -> list[tuple[str, dict]]:
    """Name and test scores by language of every row that has any."""
    found = []
    for row in leaderboard:
        if row["fresh"]:
            params = row["params"]
            tau = f", tau = {params['tau']:g}" if "tau" in params else ""
            found.append(
                (row["baseline"] or f"{params.get('weighting', 'k = 1')}{tau}", row["fresh"]["scores"][METRIC])
            )
    return found


def draw(rows: list[tuple[str, dict]], languages: list[str], path: Path) -> None:
    """Means with one standard deviation to each side, one panel per language."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "seedwise"  # the same picture from the same numbers
    figure, panels = plt.subplots(1, len(languages), figsize=(3.2 * len(languages), 0.32 * len(rows) + 1), sharey=True)
    for panel, language in zip(panels, languages, strict=True):
        for place, (name, scores) in enumerate(reversed(rows)):
            if language in scores:
                own = not name.startswith(("LS", "LR", "zero", "constant"))
                colour = "tab:blue" if own else "tab:gray"
                panel.errorbar(scores[language]["mean"], place, xerr=scores[language]["sd"] or 0, fmt="o", color=colour)
        panel.set_title(language)
        panel.set_xlim(0, 1)
        panel.grid(axis="x", alpha=0.3)
        panel.set_xlabel("macro-F1, test")
    panels[0].set_yticks(range(len(rows)), [name for name, _ in reversed(rows)])
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
