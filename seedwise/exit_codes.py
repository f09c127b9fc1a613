"""Exit codes of the command line, a contract with scripts."""

DONE = 0
FAILED = 1  # the search failed
WRONG = 2  # the request was wrong; one line says what to change
INCOMPLETE = 3  # of the follower: the search is over, and the tracker could not be reached
INTERRUPTED = 130  # the resume command was printed
