"""What a run counts as, wherever it counts: printed from a small ledger that is written here.

    python -m benchmarks.failures

Three configurations and a baseline with the selection score of the source `s` and a target `t`; the search of the first
has a collapsed run, that of the second a run out of memory, and all runs of the third failed.
"""

from statistics import fmean

from seedwise.search.drawing.leaderboard_columns import columns
from seedwise.search.drawing.table import Column, Table
from seedwise.search.ledger.state import SEARCH, State
from seedwise.search.ranking.baseline_scores import best_of_each
from seedwise.search.ranking.decomposition import decompose
from seedwise.search.ranking.estimator import Estimator
from seedwise.search.ranking.leaderboard import leaderboard
from seedwise.search.ranking.run_scores import known, scores_of
from seedwise.search.ranking.selection import Selection

SELECTION = Selection("macro_f1", "source_dev", "mean", "s", ("t",))
RUNS = {  # source scores; None: out of memory
    "collapses": [0.80, 0.80, 0.06],
    "fails once": [0.80, 0.82, None],
    "always fails": [None, None],
    "baseline": [0.70, None],
}


def ledger() -> State:
    state = State()
    state.apply({"event": "search", "specification": {"method": {"trainable": "own:Method"}}})
    for config_id, scores in RUNS.items():
        params = {"baseline": config_id} if config_id == "baseline" else {}
        state.apply({"event": "ask", "config_id": config_id, "params": params, "ask": 0})
        for replicate, score in enumerate(scores):
            run = {"config_id": config_id, "replicate": replicate, "phase": SEARCH}
            classes = 1.0 if score == min(filter(None, RUNS["collapses"])) else 4.0
            metrics = {"dev/macro_f1/s": score, "dev/macro_f1/t": score, "dev/predicted_classes/s": classes}
            status = "failed:oom" if score is None else "done"
            state.apply({"event": "start", **run})
            state.apply(
                {"event": "result", **run, "status": status, "metrics": metrics if score else {}, "seconds": 1.0}
            )
    return state


def main() -> None:
    state = ledger()
    counted = scores_of(state, SELECTION)
    rows = {row["config_id"]: row for row in leaderboard(state, Estimator(SELECTION))}
    shown = {
        row["config_id"]: [text(row) for _, text in columns(list(rows.values()), SELECTION)] for row in rows.values()
    }
    cells = []
    for config_id, scores in RUNS.items():
        row, of_target = rows[config_id], rows[config_id]["scores"].get("dev/macro_f1", {}).get("t")
        stream = decompose({"all": [score for score in scores if score is not None]})[0]
        estimate = "not ranked" if row["estimate"] is None else f"{row['estimate']:.3f}"
        cells.append(
            (
                shown[config_id][0],
                ", ".join("-" if score is None else f"{score:.2f}" for score in scores),
                ", ".join(f"{score:.2f}" for score in known(counted[config_id])),
                shown[config_id][3],
                estimate,
                f"{of_target['mean']:.3f}, {of_target['n']} of {len(scores)}" if of_target else "no number",
                f"{stream['n']} of {len(scores)}",
            )
        )
    names = ("configuration", "scores", "count as", "shown mean ± sd", "estimate", "mean of the target", "decomposed")
    table = Table.of(
        [(Column(name), lambda line, index=index: line[index]) for index, name in enumerate(names)], [cells]
    )
    print(table.markdown())
    survivors = fmean(score for score in RUNS["collapses"][:2])
    print(f"The mean of survivors that earlier versions gave for the first: {survivors:.3f}.")
    print(f"The best of each baseline: {', '.join(best_of_each(state, SELECTION))}.")


if __name__ == "__main__":
    main()
