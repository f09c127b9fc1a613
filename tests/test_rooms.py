"""Rooms: a folder imports only from itself and from rooms before it, and none is larger than a person can take in."""

import ast
import subprocess
import sys

import pytest

from tests.conftest import ROOT

ROOMS = [
    "seedwise",
    *("trainables" + name for name in ("", ".inputs", ".training", ".tasks", ".static", ".stitching", ".ear", ".dcca")),
    *("trainables.landscape", "trainables.world", "spaces"),
    *("search.ledger", "search.ranking", "search.decide", "search.spec", "search.cluster", "search.execution"),
    *("search.drawing", "search.tracking", "search.report", "search.export", "search.landscape", "search.studies"),
    "search.commands",
]
DOORS = {"seedwise", "seedwise.search", "seedwise.__main__"}  # they name what others may use, wherever it is
MOST = 16  # modules of a room; search.commands has one per command
METHODS = {"stitching": "Stitching", "ear": "Ear", "dcca": "Dcca", "landscape": "Landscape"}


def modules():
    """Every module of the product by its import name, and its file."""
    found = {}
    for top in ("seedwise", "trainables", "spaces", "search"):
        for path in (ROOT / top).rglob("*.py"):
            name = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
            found[name if top == "seedwise" else f"seedwise.{name}"] = path
    return found


def room_of(module):
    """The room of an import name: the longest of ROOMS that it is in."""
    inside = module.removeprefix("seedwise.")
    rooms = [room for room in ROOMS[1:] if inside == room or inside.startswith(room + ".")]
    return max(rooms, key=len) if rooms else ROOMS[0]


def imports(path, known):
    """What a file imports of the product, in functions too: a module's name, and the line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write the whole name"
            names = [whole if (whole := f"{node.module}.{one.name}") in known else node.module for one in node.names]
        else:
            continue
        for name in names:
            if name.partition(".")[0] == "seedwise":
                yield name, node.lineno


def test_no_room_imports_from_a_later_one():
    known = modules()
    assert len(known) > 150
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for module, path in known.items()
        if module not in DOORS
        for name, line in imports(path, known)
        if name not in DOORS and ROOMS.index(room_of(name)) > ROOMS.index(room_of(module))
    ]
    assert not wrong, "\n".join(wrong)


def test_every_folder_is_a_room_and_none_is_too_large():
    sizes = dict.fromkeys(ROOMS, 0)
    for module, path in modules().items():
        if path.name == "__init__.py":
            assert module in DOORS or module.removeprefix("seedwise.") in ROOMS, f"{module} is no room of the list"
        else:
            sizes[room_of(module)] += 1
    large = {room: size for room, size in sizes.items() if size > MOST and room != "search.commands"}
    assert not large


def test_what_a_room_may_import_is_found_by_its_longest_name():
    assert room_of("seedwise.text") == "seedwise"
    assert room_of("seedwise.trainables.method") == "trainables"
    assert room_of("seedwise.trainables.ear.examples") == "trainables.ear"
    assert room_of("seedwise.search.landscape.page") == "search.landscape"


@pytest.mark.parametrize("method", METHODS)
def test_a_method_needs_no_ray_no_optuna_and_no_search(method):
    hidden = ("ray", "optuna", "mlflow", "seedwise.search")
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({hidden}));"
        f"from seedwise.trainables.{method}.trainable import {METHODS[method]} as found; print(found.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == METHODS[method], done.stderr


HEAVY = ("torch", "transformers", "ray", "mlflow", "datasets", "matplotlib", "plotly")


@pytest.mark.parametrize("arguments", [["--help"], ["status", "tests/data/0.8.0/finished"]])
def test_help_and_status_start_without_torch_ray_and_mlflow(arguments):
    program = (
        "import atexit, runpy, sys;"
        f"atexit.register(lambda: print('loaded', [name for name in {HEAVY} if name in sys.modules]));"
        f"sys.argv = ['seedwise', *{arguments}]; runpy.run_module('seedwise', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded []"
