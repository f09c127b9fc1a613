"""Many runs: what to run next, where, and what came of it."""

if __name__ == "search":
    raise ImportError(
        "'search' is now 'seedwise.search': load_search is in seedwise, policies in seedwise.search.decide.policy"
    )
