"""The EAR space (push, pull, their weights, the layer), its canonical form, and the grids of the paper."""

from dataclasses import asdict
from typing import Any

from seedwise.trainables.ear.options import EarOptions


def default(trial: Any) -> dict:
    """All parameters that can matter; each is suggested only if it matters. Weights are for `reduction: mean`.

    Layers go up to 12, as in the paper's encoders; for a smaller encoder write `layer: [1, N]`.
    """
    params: dict[str, Any] = {
        "push": trial.suggest_categorical("push", ["ept", "nt", "none"]),
        "pull": trial.suggest_categorical("pull", ["apt", "srpt", "none"]),
    }
    if params["push"] == "ept":
        params["alpha"] = trial.suggest_float("alpha", 0.01, 100.0, log=True)
    if params["push"] == "nt":
        params["sigma"] = trial.suggest_float("sigma", 0.01, 1.0, log=True)
    if params["pull"] != "none":
        params["beta"] = trial.suggest_float("beta", 0.01, 1000.0, log=True)
        params["layer"] = trial.suggest_int("layer", 1, 12)
    if params["pull"] == "apt":  # the fixed and the released reading of the maps (E5)
        params["attention"] = trial.suggest_categorical("attention", ["words", "padded"])
    params["shared_dropout"] = trial.suggest_categorical("shared_dropout", [True, False])  # E4
    params["copies"] = trial.suggest_int("copies", 1, 3)
    params["scale"] = trial.suggest_categorical("scale", [1.0, 0.75, 0.5, 0.25])
    params["lr"] = trial.suggest_float("lr", 5e-6, 5e-5, log=True)
    params["epochs"] = trial.suggest_int("epochs", 1, 5)
    return params


# Layers were tried at alpha = beta = 1, beta at alpha = 1 and layer 6, alpha at beta = 0.1 and layer 6. The number of
# copies is that for XNLI; PAWS-X has 10. Table 4's noise has no published size: sigma is our default.
PROCEDURE = {"lr": 2e-5, "epochs": 1, "batch_size": 32, "copies": 3}
MAIN = {"alpha": 1.0, "beta": 0.1, "layer": 6}
ROWS = {
    "tables 1 and 2": {},
    "table 3, without EPT": {"push": "none"},
    "table 3, without APT": {"pull": "none"},
    "table 3, without both": {"push": "none", "pull": "none"},
    "table 4, NT + APT": {"push": "nt"},
    "table 4, EPT + SRPT": {"pull": "srpt"},
    **{f"table 6, scale {scale}": {"scale": scale} for scale in (0.75, 0.5, 0.25)},
    **{f"table A.1, layer {layer}": {"beta": 1.0, "layer": layer} for layer in (3, 6, 9, 12)},
    **{f"table A.2, beta {beta}": {"beta": beta} for beta in (0.2, 0.3, 0.5, 0.7, 0.9)},
    **{f"table A.3, alpha {alpha}": {"alpha": alpha} for alpha in (0.6, 0.8, 1.2, 1.4, 1.6, 1.8)},
}


def paper(trial: Any) -> dict:
    """The rows of Tables 1 to 4, 6 and A.1 to A.3; the row that these tables share is listed once."""
    return {**PROCEDURE, **MAIN, **ROWS[trial.suggest_categorical("row", list(ROWS))]}


def canonical(params: dict) -> dict:
    """Drop what cannot matter: a target of weight 0, the layer and the maps without a pull, the noise of all but NT."""
    params = dict(params)
    if (params["push"] == "ept" and params["alpha"] == 0) or (params["push"] == "nt" and params["sigma"] == 0):
        params["push"] = "none"
    if params["beta"] == 0:
        params["pull"] = "none"
    push, pull, noise = params["push"] == "ept", params["pull"] != "none", params["push"] == "nt"
    matters = {
        "alpha": push,
        "cap": push,
        "sigma": noise,
        "beta": pull,
        "layer": pull,
        "attention": params["pull"] == "apt",
        "reduction": push or pull,
        # Identical streams have no push and no pull, and noise leaves no streams identical.
        "unchanged": (push or pull) and not (params["shared_dropout"] or noise),
        "redraw": params["epochs"] != 1,  # with one epoch nothing is drawn again
    }
    params = {name: value for name, value in params.items() if matters.get(name, True)}
    EarOptions(**params)
    return params


# The degenerate point, cross entropy on both streams and nothing else, and the paper's own setting.
default.first = ({"push": "none", "pull": "none"}, MAIN)
for _space in (default, paper):
    _space.defaults = asdict(EarOptions())
    _space.canonical = canonical
