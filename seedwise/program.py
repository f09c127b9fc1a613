"""How this program is called from where the person is: every command that is printed can be typed as it stands."""

import os
import shlex
import shutil
import sys
from pathlib import Path

import seedwise

NAME = "seedwise"


def called(*arguments: object) -> str:
    """The command line that runs this program with `arguments`, from the current folder.

    For the terminal only: a file that is kept may be read elsewhere, and says `seedwise`.
    """
    return " ".join([_program(), *(shlex.quote(str(argument)) for argument in arguments)])


def _program() -> str:
    """`seedwise` where that is this program, else its path, else how Python starts it."""
    script = Path(sys.executable).with_name(NAME)
    if script.exists():
        return NAME if _is(shutil.which(NAME), script) else _typed(script)
    python = "python" if _is(shutil.which("python"), Path(sys.executable)) else _typed(Path(sys.executable))
    door = Path(seedwise.__file__).resolve().parent.parent / "run_search.py"
    return f"{python} {_typed(door)}" if door.exists() else f"{python} -m {NAME}"


def _is(found: str | None, path: Path) -> bool:
    return found is not None and os.path.samefile(found, path)


def _typed(path: Path) -> str:
    """A path relative to the current folder, where it is below it."""
    return shlex.quote(os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path))
