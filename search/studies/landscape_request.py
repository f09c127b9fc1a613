"""From what a person names, an exported configuration or a specification, to the specification of its landscape."""

import copy
from collections.abc import Sequence
from pathlib import Path

from seedwise.errors import RequestError
from seedwise.folder import LEDGER
from seedwise.search.export.rerun import read_best
from seedwise.search.spec.load import content_of, from_dict, set_all, yaml_of
from seedwise.search.spec.schema import Specification


def exported(source: str) -> dict | None:
    """What the file holds, where it is an exported configuration; None for a specification."""
    path = Path(source)
    if path.is_file() and (path.suffix == ".json" or "config_id" in yaml_of(source)):
        return read_best(path)
    return None


def landscape_specification(
    source: str, content: dict | None, options: dict, overrides: Sequence[str] = ()
) -> Specification:
    """The specification of a landscape. `overrides`, and then `options`, win over what the file says.

    `content` is what `exported` gave.
    """
    found = copy.deepcopy(content["specification"]) if content else content_of(source)
    if content:
        # The parameters are complete: neither the space of the search nor `compat` has a say in them.
        found |= {"space": content["params"], "enqueue": [content["params"]], "compat": "ours"}
        folder = Path(source).resolve().parent
        options = {"origin": str(folder), **options} if (folder / LEDGER).exists() else options
    if found.get("landscape") is None:
        found |= {"landscape": {}} | ({"name": f"{found['name']}-landscape"} if "name" in found else {})
    set_all(found, overrides)
    if not isinstance(found["landscape"], dict):
        raise RequestError("landscape", f"{found['landscape']!r}: write its keys, such as --set landscape.directions=0")
    return from_dict(found | {"landscape": found["landscape"] | options})
