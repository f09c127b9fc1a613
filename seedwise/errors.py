"""The errors that a person is meant to read."""


class RequestError(Exception):
    """The request was wrong. The text says what, where and what to do; the command line prints it and exits with 2."""


class SearchError(Exception):
    """The search cannot go on. The text says why, and how to go on later; the command line exits with 1."""
