"""`make docs`: docs/specification.md, the reference of all keys, made from the schema and the texts in it.

The text of a key is the string below it in its class (`search/spec/schema.py`, `trainables/request.py`), or the `text`
of an input in its method's `spec.py`.
"""

import ast
import inspect
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import BaseModel, create_model

from seedwise.search.decide.policy import POLICIES, options_of, policy_class
from seedwise.search.spec.schema import Specification
from seedwise.trainables.methods import METHODS, spec_of
from seedwise.trainables.request import Inputs
from seedwise.trainables.tasks.classification import METRICS

PATH = Path(__file__).resolve().parent.parent / "docs" / "specification.md"
INTRODUCTION = """# Specification: all keys

<!-- Made by `make docs` from the schema; change the texts there. -->

A specification is a YAML file. `--set key.sub=value` overrides a key of it on the command line, for example
`--set budget.runs=20`; the value is YAML, too. `seedwise search SPEC --dry-run` prints the resolved specification, with
all defaults, and starts nothing. Paths are relative to the folder in which the search is started; `world:NAME` is a
file of the embedded world.
"""


def reference() -> str:
    """The whole page."""
    lines = [INTRODUCTION, *_tables("", Specification), *_methods()]
    for name in POLICIES:
        options = create_model(name, **options_of(name))
        described = _linked(inspect.getdoc(policy_class(name)))
        lines += ["", f"## `replicates.policy: {name}`", "", described, "", *_table("", options, {})]
    return "\n".join(lines) + "\n"


def _methods() -> list[str]:
    """The values that exist by name for each method."""
    rows = []
    for spec in map(spec_of, METHODS):
        cells = (spec.spaces, ("ours", *spec.compat), spec.baselines, (*METRICS, *spec.metrics))
        rows.append(f"| `{spec.name}` | {' | '.join(', '.join(f'`{name}`' for name in names) for names in cells)} |")
    head = ["| `method` | `space` | `compat` | `baselines` | `select.metric` |", "|---|---|---|---|---|"]
    return ["## Names by method", "", *head, *rows]


def _tables(key: str, model: type[BaseModel]) -> list[str]:
    """A section with the keys of a model, then the sections of those keys that have keys of their own."""
    lines = [f"## `{key}`", "", _linked(inspect.getdoc(model)), ""] if key else []
    lines += [*_table(key, model, _texts(model)), ""]
    for name in model.model_fields:
        if section := _model_of(model, name):
            lines += _tables(f"{key}.{name}".lstrip("."), section)
    return lines


def _table(key: str, model: type[BaseModel], texts: dict[str, str]) -> list[str]:
    """Key, values, default and meaning of each field of a model."""
    schema, rows = model.model_json_schema(), []
    for name, field in model.model_fields.items():
        section, default = _model_of(model, name), field.get_default(call_default_factory=True)
        path = f"{key}.{name}".lstrip(".")
        values = _values(schema["properties"][name])
        if section:
            values = ", or ".join([*filter(None, [values]), f"[keys](#{path.replace('.', '')})"])
        shown = "required" if field.is_required() else "" if isinstance(default, BaseModel) else _default(default)
        text = texts.get(name) or (_linked(inspect.getdoc(section)) if section else "")
        rows.append(f"| `{name}` | {values} | {shown} | {text} |")
    return ["| key | value | default | meaning |", "|---|---|---|---|", *rows]


def _model_of(model: type[BaseModel], name: str) -> type[BaseModel] | None:
    """The model of a key that has keys of its own."""
    hint = model.model_fields[name].annotation
    kinds = (hint, *getattr(hint, "__args__", ()))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def _texts(model: type[BaseModel]) -> dict[str, str]:
    """The string below each field in the source of a class; the inputs have theirs in the methods' specs."""
    if model is Inputs:
        methods: dict[str, dict[str, list[str]]] = {}  # by key and text
        for method in METHODS:
            for name, key in spec_of(method).inputs.items():
                methods.setdefault(name, {}).setdefault(key.text, []).append(method)
        return {
            name: _linked(" ".join(f"{', '.join(users)}: {text}" for text, users in texts.items()))
            for name, texts in methods.items()
        }
    body = ast.parse(inspect.getsource(model)).body[0].body
    return {
        field.target.id: _linked(inspect.cleandoc(text.value.value))
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr)
    }


def _values(schema: dict[str, Any]) -> str:
    """What a key may hold, from its JSON schema; empty for keys of its own."""
    if "anyOf" in schema:
        return " or ".join(filter(None, map(_values, schema["anyOf"])))
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type")
    if kind == "array":
        inner = [schema["items"]] if "items" in schema else schema.get("prefixItems", [])
        return f"list of {_values(inner[0])}"
    if kind == "object":
        inner = _values(schema["additionalProperties"]) if isinstance(schema.get("additionalProperties"), dict) else ""
        return "mapping" + (f" to ({inner})" if " " in inner else f" to {inner}" if inner else "")
    bounds = {"minimum": "from {}", "exclusiveMinimum": "above {}", "maximum": "to {}"}
    names = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true`, `false`"}
    limits = [text.format(schema[bound]) for bound, text in bounds.items() if bound in schema]
    return " ".join([names.get(kind, ""), *limits]).strip()


def _default(value: Any) -> str:
    if value is None or value in ({}, []):
        return "none"
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def _linked(text: str) -> str:
    """A text of the code as Markdown in one line, with links to the pages that it names."""
    text = " ".join(text.split()).replace("|", "\\|")
    return re.sub(r"docs/([\w-]+\.md)(#[\w-]+)?", r"[\1](\1\2)", text)


if __name__ == "__main__":
    PATH.write_text(reference(), encoding="utf-8")
