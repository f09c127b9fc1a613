"""Where the numbers of a landscape lie, in its own folder and in that of the search it came from."""

import json
from pathlib import Path

from seedwise.errors import RequestError
from seedwise.program import called

NUMBERS = "landscape.json"


def read_numbers(folder: Path) -> dict:
    """The numbers of a landscape that has ended."""
    path = folder / NUMBERS
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or error
        raise RequestError(str(path), str(told), f"Write it anew with: {called('report', folder)}") from error
