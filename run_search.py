"""The command line of a checkout: `python run_search.py` is `seedwise`."""

import sys

from seedwise.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
