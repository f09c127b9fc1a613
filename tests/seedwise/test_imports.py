"""Code that a specification names is loaded from its file; nothing else in this process changes."""

import os
import re
import shutil
import subprocess
import sys
import threading
from importlib import import_module

import pytest

from seedwise import __version__, paths
from seedwise.errors import RequestError
from seedwise.imports import import_path, importable
from seedwise.search.commands.main import main
from seedwise.trainables.inputs.files import locate
from tests.conftest import ROOT


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that is not the current one, with two modules and a package; their modules are removed afterwards."""
    names = {"sw_one": "import sw_two\nVALUE = sw_two.VALUE + 1\n", "sw_two": "VALUE = 41\n"}
    for name, text in names.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "sw_three" / "part").mkdir(parents=True)
    (tmp_path / "sw_three" / "__init__.py").write_text("VALUE = 'package'\n")
    (tmp_path / "sw_three" / "part" / "deep.py").write_text("from sw_three import VALUE\n")
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("sw_")]:
        del sys.modules[name]


def test_a_module_of_the_specifications_folder_and_its_neighbours_are_found(folder):
    before = list(sys.path), dict(os.environ), os.getcwd()
    with paths.relative_to(folder):
        assert import_path("sw_one:VALUE", "method.trainable") == 42
        assert import_path("sw_three.part.deep:VALUE", "method.trainable") == "package"
    assert (list(sys.path), dict(os.environ), os.getcwd()) == before


def test_an_installed_module_is_found_without_a_file(folder):
    with paths.relative_to(folder):
        assert import_path("json.decoder:JSONDecoder", "method.space").__name__ == "JSONDecoder"


def test_a_file_goes_before_what_is_installed_under_its_name(folder, monkeypatch):
    other = folder / "installed"
    other.mkdir()
    (other / "sw_two.py").write_text("VALUE = 'another'\n")
    monkeypatch.syspath_prepend(str(other))
    with paths.relative_to(folder):
        assert import_path("sw_two:VALUE", "method.trainable") == 41


def test_a_second_module_of_a_name_is_refused_with_both_places(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "sw_two.py").write_text("VALUE = 1\n")
    with paths.relative_to(folder):
        import_path("sw_two:VALUE", "method.trainable")
        assert import_path("sw_two:VALUE", "method.trainable") == 41  # loading it again is not a second module
    with (
        paths.relative_to(other),
        pytest.raises(RequestError, match=rf"has another module 'sw_two' \({folder}.*rename sw_two.py"),
    ):
        import_path("sw_two:VALUE", "method.trainable")


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("sw_nowhere:Mine", "No module named 'sw_nowhere'"),
        ("sw_two:Mine", "module 'sw_two' has no attribute 'Mine'"),
        ("sw_broken:Mine", "No module named 'sw_missing'"),
    ],
)
def test_an_import_error_is_one_line_with_its_key(folder, path, problem):
    (folder / "sw_broken.py").write_text("import sw_missing\n")
    with paths.relative_to(folder), pytest.raises(RequestError) as error:
        import_path(path, "method.trainable")
    assert str(error.value).startswith(f"method.trainable: {path}: {problem}. Write package.module:name, with the")
    assert "sw_broken" not in sys.modules  # a half-loaded module would look complete


def test_a_folder_is_importable_in_its_block_alone_and_last(folder):
    before = list(sys.path)
    with paths.relative_to(folder), importable():
        assert sys.path == [*before, str(folder)]
        with importable():
            pass
        assert sys.path == [*before, str(folder)]
    assert sys.path == before


@pytest.mark.parametrize("name", ["search", "spaces", "trainables"])
def test_our_old_names_are_distinguished_from_other_missing_modules(folder, name, monkeypatch):
    monkeypatch.setattr(
        sys, "path", [path for path in sys.path if path not in ("", str(ROOT))]
    )  # as in an installed package
    (folder / "sw_old.py").write_text(f"from {name}.anything import Method\n")
    message = f"Seedwise's own {name!r} is now 'seedwise.{name}'."
    with paths.relative_to(folder), pytest.raises(RequestError, match=re.escape(message)):
        import_path("sw_old:Mine", "method.trainable")


@pytest.mark.parametrize("name", ["search", "spaces", "trainables"])
def test_our_folders_refuse_to_be_imported_by_their_old_names(name, monkeypatch):
    """Otherwise every class would exist twice."""
    monkeypatch.syspath_prepend(str(ROOT))
    with pytest.raises(ImportError, match=f"'{name}' is now 'seedwise.{name}'"):
        import_module(name)
    assert name not in sys.modules


def test_a_checkout_without_symbolic_links_can_be_imported(tmp_path):
    """As on Windows, or in an unpacked sdist."""
    shutil.copytree(ROOT / "seedwise", tmp_path / "seedwise", ignore=lambda *_: ["search", "spaces", "trainables"])
    for name in ("search", "spaces", "trainables"):
        (tmp_path / name).symlink_to(ROOT / name)
    # Without site-packages: an editable installation would provide the missing links.
    line = [sys.executable, "-S", "-c", "import seedwise.search, sys; sys.stdout.write(seedwise.search.__file__)"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (str(tmp_path / "search" / "__init__.py"), "")


def test_the_command_line_says_its_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"seedwise {__version__}\n"


def test_a_file_named_as_a_module_without_a_file_is_refused(folder):
    (folder / "time.py").write_text("")
    with (
        paths.relative_to(folder),
        pytest.raises(RequestError, match=r"another module 'time' \(built in\); rename time.py"),
    ):
        import_path("time:Mine", "method.trainable")


def test_relative_paths_are_those_of_the_block_in_this_thread_alone(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    folders = []
    with paths.relative_to(folder):
        assert locate("sw_one.py", "inputs.x").samefile(folder / "sw_one.py")
        assert locate(str(folder / "sw_two.py"), "inputs.x") == folder / "sw_two.py"
        thread = threading.Thread(target=lambda: folders.append(paths.folder()))
        thread.start()
        thread.join()
    assert folders == [folder.parent]
    with pytest.raises(RequestError, match=r"inputs.x: sw_one.py: there is no such file"):
        locate("sw_one.py", "inputs.x")
