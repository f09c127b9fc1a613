"""What leaves a search: best.yaml, models, cards, an Optuna study, tables for pandas."""
