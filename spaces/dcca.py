"""The space of DCCA continued pretraining, its canonical form, and the four settings of the paper."""

from dataclasses import asdict
from typing import Any

from seedwise.trainables.dcca.options import DccaOptions, without_tuning

# Parameters that only an alignment reads, and parameters that only the correlation loss reads.
ALIGNMENT = ("static", "weight", "layer", "pooling", "padding", "words", "word_batch")
CORRELATION = ("loss", "top_k", "directions", "ridge")


def default(trial: Any) -> dict:
    """All parameters that can matter; each is suggested only if it matters.

    Layers go from 6 to 12, the last of the paper's encoder; for a smaller encoder write `layer: [1, N]`. `mse` needs
    static vectors as wide as the encoder; if yours are not, write `alignment: [dcca, none]`.
    """
    params: dict[str, Any] = {"alignment": trial.suggest_categorical("alignment", ["dcca", "mse", "none"])}
    if params["alignment"] != "none":
        params["weight"] = trial.suggest_float("weight", 0.01, 10.0, log=True)
        params["layer"] = trial.suggest_int("layer", 6, 12)
        params["pooling"] = trial.suggest_categorical("pooling", ["pieces", "all", "cls"])
    if params["alignment"] == "dcca":
        params["top_k"] = trial.suggest_int("top_k", 5, 60)
        params["words"] = trial.suggest_categorical("words", [256, 512, 1024, 2048])
    params["blocks"] = trial.suggest_categorical("blocks", [32, 64, 128, 256])
    params["steps"] = trial.suggest_int("steps", 1000, 15_000, step=500)
    params["lr"] = trial.suggest_float("lr", 5e-6, 1e-4, log=True)
    params["freeze_layers"] = trial.suggest_categorical("freeze_layers", [0, 6, 9])  # all, 6 and 3 of 12 are trained
    return params


# Table 3, with one run per row; top_k = 10 is only in the paper's code, not in its text.
PROCEDURE = {"steps": 7500, "words": 1024, "blocks": 64, "lr": 5e-5, "weight": 1.0, "layer": "last", "top_k": 10}
ROWS = {
    "+MLM": {"alignment": "none"},
    "+fastText, DCCA": {"alignment": "dcca", "static": "fasttext"},
    "+X2S-MA, MSE": {"alignment": "mse", "static": "x2s_ma"},
    "+X2S-MA, DCCA": {"alignment": "dcca", "static": "x2s_ma"},
}


def paper(trial: Any) -> dict:
    """The four rows of Table 3. They need two sets of vectors, inputs.static.x2s_ma and inputs.static.fasttext."""
    return {**PROCEDURE, **ROWS[trial.suggest_categorical("row", list(ROWS))]}


def canonical(params: dict) -> dict:
    """Drop what cannot matter: options of an alignment of weight 0, and DCCA's options with another alignment."""
    params = dict(params)
    if params["weight"] == 0:
        params["alignment"] = "none"
    unread: tuple[str, ...] = ()
    if params["alignment"] == "none":
        unread = (*ALIGNMENT, *CORRELATION)
    elif params["alignment"] == "mse":
        unread = CORRELATION
    elif params["loss"] == "released":
        unread = ("directions", "ridge")  # word_batch stays: this loss depends on its batches
    DccaOptions(**params)
    return without_tuning({name: value for name, value in params.items() if name not in unread})


default.first = ({"alignment": "none"}, {"alignment": "dcca"})
for _space in (default, paper):
    _space.defaults = asdict(DccaOptions())
    _space.canonical = canonical
