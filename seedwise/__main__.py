"""`python -m seedwise`: the command line."""

import sys

from run_search import main

if __name__ == "__main__":
    sys.exit(main())
