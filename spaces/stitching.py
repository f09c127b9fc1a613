"""The stitching space (k, tau, weighting), its canonical form, and the grids of the MoSECroT paper."""

from dataclasses import asdict
from typing import Any

from seedwise.trainables.stitching.options import WEIGHTINGS, StitchingOptions


def default(trial: Any) -> dict:
    """All parameters that can matter; each is suggested only if it matters."""
    params: dict[str, Any] = {"k": trial.suggest_int("k", 1, 200, log=True)}
    if params["k"] != 1:
        params["weighting"] = trial.suggest_categorical("weighting", list(WEIGHTINGS))
        if params["weighting"] != "standard":
            params["tau"] = trial.suggest_float("tau", 0.01, 1.0, log=True)
        if params["weighting"] == "entmax":
            params["exponent"] = trial.suggest_float("exponent", 1.1, 3.0)
    params["lr"] = trial.suggest_float("lr", 5e-6, 5e-5, log=True)
    params["epochs"] = trial.suggest_int("epochs", 5, 40)
    params["anchors"] = trial.suggest_categorical("anchors", ["all", 0.5, 0.25])
    for extension in ("merge_anchors", "centre", "renorm", "freeze_embeddings"):
        params[extension] = trial.suggest_categorical(extension, [False, True])
    return params


# Table 3 varies k over all anchors, Table 4 the anchors at k = all (its last row is in Table 3); neither names the
# weighting, so it is the printed formula. Tables 1 and 2 compare weightings at k = 50. The procedure is Taxi1500's.
PROCEDURE = {"lr": 1e-5, "epochs": 15, "batch_size": 32, "accumulation": 4}
ROWS = {
    **{f"table 3, k = {k}": {"k": k, "weighting": "standard"} for k in (1, 10, 50, 100, "all")},
    **{f"table 4, {n} anchors": {"k": "all", "weighting": "standard", "anchors": n} for n in (500, 3000)},
    **{f"tables 1 and 2, {weighting}": {"k": 50, "weighting": weighting} for weighting in ("softmax", "sparsemax")},
}


def paper(trial: Any) -> dict:
    """The rows of Tables 1 to 4. The paper names no tau; 1 leaves its printed formula unchanged."""
    return {**PROCEDURE, "tau": 1.0, **ROWS[trial.suggest_categorical("row", list(ROWS))]}


def canonical(params: dict) -> dict:
    """Drop what cannot matter: weighting and tau of a single neighbour, tau of standard, exponent of all but entmax."""
    params, several = dict(params), params["k"] != 1
    weighting = params["weighting"] if several else "standard"
    if not several or weighting != "standard":
        params["negatives"] = StitchingOptions.negatives  # matters to the printed formula only
    if params["freeze_embeddings"] and params["specials"] == "tuned":
        params["specials"] = "pretrained"  # frozen rows stay pretrained
    matters = {"weighting": several, "tau": weighting != "standard", "exponent": weighting == "entmax"}
    params = {name: value for name, value in params.items() if matters.get(name, True)}
    StitchingOptions(**params)
    return params


# The degenerate point, where every word becomes its nearest anchor, and the paper's own setting.
default.first = ({"k": 1}, {"k": 50, "weighting": "standard"})
for _space in (default, paper):
    _space.defaults = asdict(StitchingOptions())
    _space.canonical = canonical
