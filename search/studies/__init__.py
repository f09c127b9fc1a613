"""Searches, decompositions and landscapes from beginning to end: the only room that puts the others together."""
