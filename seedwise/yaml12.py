"""Reads and writes YAML as people mean it: `on` is a word and 1e-3 a number, as in YAML 1.2. Never runs code."""

import re
from typing import Any

import yaml
from yaml import YAMLError

__all__ = ["YAMLError", "dump", "load"]


class _Loader(yaml.SafeLoader):
    """PyYAML follows YAML 1.1, where on, off, yes and no are booleans and 1e-3 is text."""


_BOOLEAN, _FLOAT = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:float"
_Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag not in (_BOOLEAN, _FLOAT)]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_BOOLEAN, re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
_Loader.add_implicit_resolver(
    _FLOAT,
    re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?$|^[-+]?[0-9]+[eE][-+]?[0-9]+$"),
    list("-+0123456789."),
)


class _Dumper(yaml.SafeDumper):
    """Writes repeated values out in full, not as aliases such as `*id001`."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def load(text: str) -> Any:
    """The data of a YAML text."""
    return yaml.load(text, Loader=_Loader)


def dump(data: Any) -> str:
    """Write plain data as YAML; keys keep their order."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
