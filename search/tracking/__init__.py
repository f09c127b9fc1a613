"""MLflow: a mirror of the ledger, and the process that writes it."""
