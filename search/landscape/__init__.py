"""Landscapes: models of one configuration, points between the models, and what these say about seeds."""
