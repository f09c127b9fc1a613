"""The ledger, which records every configuration and run of a search, and the state that is derived from it."""
