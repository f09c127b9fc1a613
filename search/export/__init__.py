"""Exports of a search: best.yaml, models, cards, an Optuna study, tables for pandas."""
