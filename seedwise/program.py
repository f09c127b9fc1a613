"""The command line of this program, so that every printed command can be typed as it stands."""

import os
import shlex
import shutil
import sys
from pathlib import Path

import seedwise

NAME = "seedwise"


def called(*arguments: object) -> str:
    """The command line that runs this program with `arguments`, as it can be typed in the current folder.

    For what is printed. A file that is kept may be read elsewhere: see `command`.
    """
    return " ".join([_program(), *map(shlex.quote, map(str, arguments))])


def command(*arguments: object) -> str:
    """The command line for a file that is kept, which says `seedwise` however this process was started."""
    return shlex.join([NAME, *map(str, arguments)])


def tool(name: str, *arguments: object) -> str:
    """The command line of another program that is installed with this one, as it can be typed in the current folder."""
    path = Path(sys.executable).with_name(name)
    program = name if shutil.which(name) or not path.is_file() else _typed(path)
    return " ".join([program, *map(shlex.quote, map(str, arguments))])


def _program() -> str:
    """`seedwise` if the shell finds this program by that name, else its path, else the way Python starts it."""
    beside = (Path(sys.argv[0]), Path(sys.executable).parent / NAME)
    if script := next((path for path in beside if path.name == NAME and path.is_file()), None):
        on_path = shutil.which(NAME)
        return NAME if on_path and os.path.samefile(on_path, script) else _typed(script)
    # An environment's python is a link to its base python, which does not know what is installed in the environment.
    known = shutil.which("python") == os.path.abspath(sys.executable)
    python = "python" if known or not sys.executable else _typed(Path(sys.executable))
    door = Path(seedwise.__file__).resolve().parent.parent / "run_search.py"
    return f"{python} {_typed(door)}" if door.exists() else f"{python} -m {NAME}"


def _typed(path: Path) -> str:
    """A path, relative to the current folder if it is below it; a shell looks up a bare name elsewhere."""
    path = path.absolute()
    if not path.is_relative_to(Path.cwd()):
        return shlex.quote(str(path))
    near = os.path.relpath(path)
    return shlex.quote(near if os.sep in near or path.suffix == ".py" else os.path.join(".", near))
