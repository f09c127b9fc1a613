"""Formats command lines, so that users can run every printed command without changing it."""

import os
import shlex
import shutil
import sys
from pathlib import Path

import seedwise

NAME = "seedwise"


def called(*arguments: object) -> str:
    """The command line that runs this program with `arguments` in the current folder.

    Use it for printed text only. A file may be read on another machine: use `command` there.
    """
    return " ".join([_program(), *map(shlex.quote, map(str, arguments))])


def command(*arguments: object) -> str:
    """The command line to write into a file. It begins with `seedwise`, however this process was started."""
    return shlex.join([NAME, *map(str, arguments)])


def tool(name: str, *arguments: object) -> str:
    """The command line that runs another program of this Python environment in the current folder."""
    path = Path(sys.executable).with_name(name)
    program = name if shutil.which(name) or not path.is_file() else _typed(path)
    return " ".join([program, *map(shlex.quote, map(str, arguments))])


def _program() -> str:
    """`seedwise` if the shell finds this program by that name, else its path, else a `python` command."""
    beside = (Path(sys.argv[0]), Path(sys.executable).parent / NAME)
    if script := next((path for path in beside if path.name == NAME and path.is_file()), None):
        on_path = shutil.which(NAME)
        return NAME if on_path and os.path.samefile(on_path, script) else _typed(script)
    # Links are not followed: an environment's python is a link to its base python, which lacks the installed packages.
    known = shutil.which("python") == os.path.abspath(sys.executable)
    python = "python" if known or not sys.executable else _typed(Path(sys.executable))
    launcher = Path(seedwise.__file__).resolve().parent.parent / "run_search.py"
    return f"{python} {_typed(launcher)}" if launcher.exists() else f"{python} -m {NAME}"


def _typed(path: Path) -> str:
    """Quote a path for the shell, relative if it is in the current folder; a bare program name gets `./`."""
    path = path.absolute()
    if not path.is_relative_to(Path.cwd()):
        return shlex.quote(str(path))
    near = os.path.relpath(path)
    return shlex.quote(near if os.sep in near or path.suffix == ".py" else os.path.join(".", near))
