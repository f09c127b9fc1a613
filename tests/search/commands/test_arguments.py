"""Renamed options: the old names still work, with advice, and are not shown in the help."""

import pytest

from seedwise.search.commands.main import main, parser

RENAMED = [
    (["run", "best.yaml", "--anyway"], "--allow-changed-inputs", True),
    (["landscape", "best.yaml", "--anyway"], "--allow-changed-inputs", True),
    (["landscape", "best.yaml", "--equal", "epochs"], "--match", "epochs"),
    (["submit", "demo", "--address", "http://head:8265", "--there", "/runs"], "--remote-dir", "/runs"),
]


@pytest.mark.parametrize(("arguments", "name", "value"), RENAMED)
def test_an_old_option_name_works_and_is_reported_in_one_line(arguments, name, value, capsys):
    former = next(argument for argument in arguments if argument in ("--anyway", "--equal", "--there"))
    options = parser().parse_args(arguments)
    assert capsys.readouterr().err == f"seedwise: {former} is now called {name}\n"
    assert getattr(options, name.removeprefix("--").replace("-", "_")) == value
    assert options == parser().parse_args([name if argument == former else argument for argument in arguments])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("arguments", "name", "value"), RENAMED)
def test_the_help_shows_only_the_new_name(arguments, name, value, capsys):
    with pytest.raises(SystemExit):
        main([arguments[0], "--help"])
    shown = capsys.readouterr().out
    assert name in shown
    assert not any(former in shown for former in ("--anyway", "--equal", "--there"))


def test_a_wrong_value_of_an_old_option_name_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["landscape", "best.yaml", "--equal", "steps"])
    assert "argument --equal: invalid choice: 'steps'" in capsys.readouterr().err
