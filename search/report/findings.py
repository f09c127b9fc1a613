"""The former name of the results of a search."""

from seedwise.search.ranking.results import Results as Findings

__all__ = ["Findings"]
