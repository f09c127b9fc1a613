"""Make the specification of a landscape from an exported configuration or from another specification."""

import copy
from collections.abc import Sequence
from pathlib import Path

from seedwise.errors import RequestError
from seedwise.folder import LEDGER
from seedwise.search.export.rerun import read_best
from seedwise.search.spec.load import content_of, from_dict, set_all, yaml_of
from seedwise.search.spec.schema import Specification


def exported(source: str) -> dict | None:
    """The content of an exported configuration; None if the file is a specification."""
    path = Path(source)
    if path.is_file() and (path.suffix == ".json" or "config_id" in yaml_of(source)):
        return read_best(path)
    return None


def landscape_specification(
    source: str, best: dict | None, options: dict, overrides: Sequence[str] = ()
) -> Specification:
    """The specification of a landscape. `best` comes from `exported`; `overrides` and `options` win over the file."""
    content = copy.deepcopy(best["specification"]) if best else content_of(source)
    if best:  # its parameters are complete, so the search's space and `compat` do not apply
        content |= {"space": best["params"], "enqueue": [best["params"]], "compat": "ours"}
        folder = Path(source).resolve().parent
        options = {"origin": str(folder), **options} if (folder / LEDGER).exists() else options
    if content.get("landscape") is None:
        content |= {"landscape": {}} | ({"name": f"{content['name']}-landscape"} if "name" in content else {})
    set_all(content, overrides)
    if not isinstance(content["landscape"], dict):
        problem = f"{content['landscape']!r}: write its keys, such as --set landscape.directions=0"
        raise RequestError("landscape", problem)
    return from_dict(content | {"landscape": content["landscape"] | options})
