"""Tracking: a separate process that mirrors the ledger in MLflow."""
