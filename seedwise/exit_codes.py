"""Exit codes of the command line. Scripts rely on them, so they must not change."""

DONE = 0
FAILED = 1  # the search failed
WRONG = 2  # the request was wrong; one line says what to change
INCOMPLETE = 3  # only of the tracking process: the search is over, but the tracker could not be reached
INTERRUPTED = 130  # the user stopped the search; the command that resumes it was printed
