"""Readers of the files that users have: word vectors, lexica, synonyms, text."""
