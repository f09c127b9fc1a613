"""Decides what to run next: policies, proposals, warm starts, pruning, baselines, plans."""
