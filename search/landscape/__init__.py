"""Landscapes: scores on the way between trained models of one configuration, and what they say about seeds."""
