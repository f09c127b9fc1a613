"""The space of the toy method."""

from dataclasses import asdict

from seedwise.trainables.toy.options import ToyOptions


def default(trial):
    return {"smoothing": trial.suggest_float("smoothing", 0.01, 10.0, log=True), "sentences": 40}


def canonical(params):
    ToyOptions(**params)
    return dict(params)


default.first = ({"smoothing": 1.0, "sentences": 40},)
default.defaults = asdict(ToyOptions())
default.canonical = canonical
