"""The ledger: what was asked, started and finished, and the state that follows from it."""
