"""What the replicates say about every configuration: selection, estimate, leaderboard, differences."""
