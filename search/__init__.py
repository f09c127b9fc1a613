"""Many runs: what to run next, where, and what came of it."""
