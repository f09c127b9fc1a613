"""Searches, decompositions and landscapes from beginning to end: the only room that composes the other rooms."""
