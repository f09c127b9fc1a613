"""Ray under a search: nodes, placement, and searches that are submitted as jobs."""
