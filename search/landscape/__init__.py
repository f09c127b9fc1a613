"""Landscapes: models of one configuration trained apart, points between them, and what they say of its seeds."""
