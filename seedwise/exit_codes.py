"""Exit codes of the command line, a contract with scripts."""

DONE = 0
FAILED = 1  # the search failed
WRONG = 2  # the request was wrong; one line says what to change
INTERRUPTED = 130  # the resume command was printed
