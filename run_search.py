"""The command line of a checkout: `python run_search.py` is `seedwise`."""

import sys
from pathlib import Path

from seedwise.__main__ import main

if __name__ == "__main__":
    # The folders beside this script are imported as seedwise.search and so on: `import search` means a person's file.
    if sys.path and Path(sys.path[0]).resolve() == Path(__file__).resolve().parent:
        del sys.path[0]
    sys.exit(main())
