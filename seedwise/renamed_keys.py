"""Keys and values of a specification that were renamed. The old names still work in files, ledgers and --set."""

import sys

from seedwise.errors import RequestError

KEYS = {  # old name: new name, which is in the same section
    "checkpoints.at": "checkpoints.path",
    "resources.silent_minutes": "resources.heartbeat_timeout_minutes",
    "landscape.equal": "landscape.match",
}
VALUES = {("compat", "fixed"): "ours"}


def with_new_names(specification: dict, *, advise: bool = True) -> dict:
    """A copy of a specification (plain data) with today's names.

    `advise` prints a line for each old name. Turn it off for ledgers, which users do not edit.
    """
    specification = {**specification}
    for old, new in KEYS.items():
        section, old_name = old.split(".")
        content = specification.get(section)
        if not isinstance(content, dict) or old_name not in content:
            continue
        new_name = new.split(".")[1]
        if new_name in content:
            raise RequestError(old, f"it is now called {new}, and both are given", f"Remove {old}.")
        specification[section] = {new_name if name == old_name else name: value for name, value in content.items()}
        if advise:
            _advise(old, new)
    for (key, old), new in VALUES.items():
        if specification.get(key) == old:
            specification[key] = new
            if advise:
                _advise(f"{key}: {old}", new)
    return specification


def new_key(key: str) -> str:
    """Today's name of a key such as `checkpoints.at`. Prints a line of advice if the name is old."""
    if key in KEYS:
        _advise(key, KEYS[key])
    return KEYS.get(key, key)


def _advise(old: str, new: str) -> None:
    print(f"seedwise: {old} is now called {new}", file=sys.stderr)
