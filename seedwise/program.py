"""How this program is called from where the person is: every command that is printed can be typed as it stands."""

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
    return " ".join([_program(), *map(_quoted, arguments)])


def command(*arguments: object) -> str:
    """The command line for a file that is kept, which says `seedwise` however this process was started."""
    return " ".join([NAME, *map(_quoted, arguments)])


def _program() -> str:
    """`seedwise` where that is this program, else its path, else how Python starts it."""
    script = Path(sys.executable).with_name(NAME)
    if script.exists():
        return NAME if _is(shutil.which(NAME), script) else _typed(script)
    python = "python" if _is(shutil.which("python"), Path(sys.executable)) else _typed(Path(sys.executable))
    door = Path(seedwise.__file__).resolve().parent.parent / "run_search.py"
    return f"{python} {_typed(door)}" if door.exists() else f"{python} -m {NAME}"


def _quoted(argument: object) -> str:
    return shlex.quote(str(argument))


def _is(found: str | None, path: Path) -> bool:
    return found is not None and os.path.samefile(found, path)


def _typed(path: Path) -> str:
    """A path relative to the current folder, where it is below it."""
    return shlex.quote(os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path))
