"""Labelled data and their metrics."""
