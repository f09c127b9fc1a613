"""Rooms: a folder imports only from itself and from earlier rooms, and no folder is too large."""

import ast
import re
import subprocess
import sys

import pytest

from seedwise.trainables.methods import METHODS, spec_of
from tests.conftest import ROOT
from tests.search.story import TEST_TIMEOUT

ROOMS_OF_METHODS = [METHODS[name].removeprefix("seedwise.").removesuffix(".spec") for name in METHODS]
ROOMS = [
    "seedwise",
    *("trainables" + name for name in ("", ".inputs", ".training", ".tasks", ".static", ".landscape")),
    *dict.fromkeys(["trainables.ear", *ROOMS_OF_METHODS]),  # dcca imports from ear
    *("trainables.world", "spaces"),
    *("search.ledger", "search.ranking", "search.decide", "search.spec", "search.cluster", "search.execution"),
    *("search.drawing", "search.tracking", "search.report", "search.export", "search.landscape", "search.studies"),
    "search.commands",
]
DOORS = {"seedwise", "seedwise.search", "seedwise.__main__"}  # they name what others may use, wherever it is
TABLES = {"seedwise.trainables.methods"}  # of import paths, as the spec.py of every method is
LARGEST_ROOM = 16  # modules of a room; search.commands has one per command
LANDSCAPE = "seedwise.trainables.landscape.trainable:Landscape"


def modules():
    """Every module of the product by its import name, and its file."""
    paths = {}
    for top in ("seedwise", "trainables", "spaces", "search"):
        for path in (ROOT / top).rglob("*.py"):
            name = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
            paths[name if top == "seedwise" else f"seedwise.{name}"] = path
    return paths


def room_of(module):
    """The room of an import name: the longest of ROOMS that it is in."""
    inside = module.removeprefix("seedwise.")
    rooms = [room for room in ROOMS[1:] if inside == room or inside.startswith(room + ".")]
    return max(rooms, key=len) if rooms else ROOMS[0]


def imports(tree, known):
    """What a file imports of the product, in functions and as a string: a module's name, the line, whether a string."""
    for node in ast.walk(tree):
        names, text = [], isinstance(node, ast.Constant)
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: write the whole name"
            names = [
                whole if (whole := f"{node.module}.{alias.name}") in known else node.module for alias in node.names
            ]
            if node.module == "seedwise":
                names = [f"seedwise.{alias.name}" for alias in node.names if alias.name != "__version__"]
        elif text and isinstance(node.value, str):
            name = node.value.partition(":")[0]
            names = [name] if name in known and name not in DOORS else []
        for name in names:
            if name.partition(".")[0] in ("seedwise", "search", "spaces", "trainables", "run_search"):
                yield name, node.lineno, text


def against_the_order(module, tree, known):
    """Imports of a later room, of a door, and by names that are not ours to use.

    The table of methods, and what each says of itself, name methods and spaces for others to import.
    """
    named = ROOMS.index("spaces") if module in TABLES or module.endswith(".spec") else -1
    for name, line, text in imports(tree, known):
        if name == "seedwise":
            continue
        last = max(ROOMS.index(room_of(module)), named if text else -1)
        if name in DOORS or name not in known or ROOMS.index(room_of(name)) > last:
            yield f"{module}:{line} imports {name}"


def test_no_room_imports_from_a_later_one():
    known = modules()
    assert len(known) > 150
    wrong = [
        problem
        for module, path in known.items()
        if module not in DOORS
        for problem in against_the_order(module, ast.parse(path.read_text()), known)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "line",
    [
        "from seedwise.search.report import table",
        "def later():\n    import seedwise.search.report.table",
        "from seedwise import search",
        "from seedwise import load_search",
        "from seedwise.__main__ import main",
        "import run_search",
        "from search.studies import launch",
        "import_module('seedwise.search.studies.launch')",
        "import_path('seedwise.search.studies.launch:search', '')",
        "if TYPE_CHECKING:\n    from seedwise.search.spec.schema import Specification",
    ],
)
def test_an_import_against_the_order_is_seen_however_it_is_written(line):
    assert len(list(against_the_order("seedwise.search.ledger.state", ast.parse(line), modules()))) == 1


def test_a_method_says_no_more_of_later_rooms_than_the_names_of_its_spaces():
    text = "SPACE, LATER = 'seedwise.spaces.ear:default', 'seedwise.search.studies.launch:search'"
    assert len(list(against_the_order("seedwise.trainables.ear.spec", ast.parse(text), modules()))) == 1
    assert len(list(against_the_order("seedwise.trainables.ear.options", ast.parse(text), modules()))) == 2


def test_only_the_table_of_methods_names_a_method():
    """Otherwise a method is named only in its folder and its space; pages of docs/ may be named anywhere."""
    own = re.compile(rf"(trainables|spaces)\.({'|'.join([*METHODS, 'world'])})\b")
    named = re.compile(rf"(?<!docs/)\b({'|'.join(METHODS)})\b", re.IGNORECASE)
    elsewhere = {name: path for name, path in modules().items() if not own.search(name) and name not in TABLES}
    lines = [f"{name}: {line}" for name, path in elsewhere.items() for line in path.read_text().splitlines()]
    assert [line for line in lines if named.search(line.partition(": ")[2])] == []


def test_every_folder_is_a_room_and_none_is_too_large():
    sizes = dict.fromkeys(ROOMS, 0)
    for module, path in modules().items():
        if path.name == "__init__.py":
            assert module in DOORS or module.removeprefix("seedwise.") in ROOMS, f"{module} is no room of the list"
        else:
            sizes[room_of(module)] += 1
    large = {room: size for room, size in sizes.items() if size > LARGEST_ROOM and room != "search.commands"}
    assert not large


def test_what_a_room_may_import_is_found_by_its_longest_name():
    assert room_of("seedwise.text") == "seedwise"
    assert room_of("seedwise.trainables.method") == "trainables"
    assert room_of("seedwise.trainables.ear.examples") == "trainables.ear"
    assert room_of("seedwise.search.landscape.page") == "search.landscape"


def test_a_method_needs_no_ray_no_optuna_and_no_search():
    hidden = ("ray", "optuna", "mlflow", "seedwise.search")
    paths = [*(spec_of(name).trainable for name in METHODS), LANDSCAPE]
    program = f"import sys; sys.modules.update(dict.fromkeys({hidden}))\n" + "".join(
        f"from {module} import {kind}; print({kind}.__name__)\n"
        for module, _, kind in (path.partition(":") for path in paths)
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=TEST_TIMEOUT
    )
    assert done.stdout.split() == [path.partition(":")[2] for path in paths], done.stderr


HEAVY = ("torch", "transformers", "ray", "mlflow", "datasets", "matplotlib", "plotly")


@pytest.mark.parametrize("arguments", [["--help"], ["status", "tests/data/0.8.0/finished"]])
def test_help_and_status_start_without_torch_ray_and_mlflow(arguments):
    program = (
        "import atexit, runpy, sys;"
        f"atexit.register(lambda: print('loaded', [name for name in {HEAVY} if name in sys.modules]));"
        f"sys.argv = ['seedwise', *{arguments}]; runpy.run_module('seedwise', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=TEST_TIMEOUT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded []"
