"""The one error a person is meant to read."""


class RequestError(Exception):
    """The request was wrong. The text says what, where and what to do; the command line prints it and exits with 2."""
