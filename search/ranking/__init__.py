"""Ranks configurations by the scores of their replicates: selection, estimate, leaderboard, differences."""
