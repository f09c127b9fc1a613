"""`python -m seedwise`: the command line."""

import sys

from seedwise.search.commands.main import main

if __name__ == "__main__":
    sys.exit(main())
