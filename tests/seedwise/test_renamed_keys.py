"""Old names of keys still work, and each is reported once with its new name."""

import pytest

from seedwise import yaml12
from seedwise.errors import RequestError
from seedwise.renamed_keys import KEYS, with_new_names
from seedwise.search.export.rerun import read_best, rerun_specification
from seedwise.search.ledger.file import read as ledger
from seedwise.search.spec.load import read, recorded
from seedwise.search.spec.schema import Specification
from seedwise.search.studies.landscape_request import exported, landscape_specification
from tests.conftest import ROOT

EARLIER = ROOT / "tests" / "data" / "0.8.0" / "finished"
OLD = {"compat": "fixed", "checkpoints": {"at": "/states", "grace": 5.0}, "resources": {"silent_minutes": 3.0}}
NEW = {
    "compat": "ours",
    "checkpoints": {"path": "/states", "grace": 5.0},
    "resources": {"heartbeat_timeout_minutes": 3.0},
}
ADVICE = [
    "seedwise: checkpoints.at is now called checkpoints.path",
    "seedwise: resources.silent_minutes is now called resources.heartbeat_timeout_minutes",
    "seedwise: compat: fixed is now called ours",
]


def written(tmp_path, content):
    """The demo with these keys, as a file."""
    path = tmp_path / "spec.yaml"
    path.write_text(yaml12.dump(read("demo").as_dict() | content))
    return str(path)


def test_a_file_with_old_names_means_the_same_and_each_is_advised_once(tmp_path, capsys):
    specification = read(written(tmp_path, OLD))
    assert capsys.readouterr().err.splitlines() == ADVICE
    assert specification == read(written(tmp_path, NEW))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        (["compat=fixed", "checkpoints.at=/states", "checkpoints.grace=5", "resources.silent_minutes=3"], ADVICE),
        (["compat=fixed", "checkpoints={at: /states, grace: 5}", "resources={silent_minutes: 3}"], ADVICE),
        (["checkpoints.path=/states", "checkpoints.grace=5", "resources.heartbeat_timeout_minutes=3"], []),
    ],
)
@pytest.mark.parametrize("content", [{}, {"checkpoints": {"path": "/elsewhere"}}])
def test_old_names_on_the_command_line_win_over_what_the_file_says(settings, advice, content, tmp_path, capsys):
    specification = read(written(tmp_path, content), settings)
    assert sorted(capsys.readouterr().err.splitlines()) == sorted(advice)
    assert (specification.compat, specification.checkpoints.path) == ("ours", "/states")
    assert specification.checkpoints.grace == 5
    assert specification.resources.heartbeat_timeout_minutes == 3


@pytest.mark.parametrize(("old", "new"), KEYS.items())
def test_both_names_at_once_are_an_error(old, new):
    section, name = old.split(".")
    both = {section: {name: 1, new.split(".")[1]: 2}}
    with pytest.raises(RequestError) as refused:
        with_new_names(both)
    assert str(refused.value) == f"{old}: it is now called {new}, and both are given. Remove {old}."


def test_new_names_exist_and_old_ones_do_not():
    resolved = read("demo").as_dict() | {"landscape": landscape_specification("demo", None, {}).as_dict()["landscape"]}
    for old, new in KEYS.items():
        (section, old_name), (_, new_name) = old.split("."), new.split(".")
        assert new_name in resolved[section]
        assert old_name not in resolved[section]
    assert Specification.model_fields["compat"].default == "ours"


def test_what_is_read_with_new_names_stays_as_it_was():
    before = {"landscape": {"equal": "epochs"}, "compat": "paper"}
    assert with_new_names(before, advise=False) == {"landscape": {"match": "epochs"}, "compat": "paper"}
    assert before == {"landscape": {"equal": "epochs"}, "compat": "paper"}


def test_an_earlier_search_is_read_without_advice_and_the_same_specification_goes_on(capsys):
    state = ledger(EARLIER / "ledger.jsonl")
    assert yaml12.load((EARLIER / "search.yaml").read_text())["compat"] == "fixed"
    again = read(str(EARLIER / "search.yaml"))
    assert recorded(state).as_dict() == again.as_dict()  # a resumed search compares it
    assert (again.compat, state.specification["compat"]) == ("ours", "ours")
    assert capsys.readouterr().err == ""


def test_an_exported_file_of_an_earlier_version_is_run_again_with_advice(capsys):
    path = EARLIER / "best.yaml"
    specification = rerun_specification(read_best(path), None)
    assert specification.checkpoints.path is None
    assert sorted(capsys.readouterr().err.splitlines()) == sorted(ADVICE)
    landscape = landscape_specification(str(path), exported(str(path)), {"match": "epochs"})
    assert landscape.landscape.match == "epochs"
    assert sorted(capsys.readouterr().err.splitlines()) == sorted(ADVICE)


def test_an_option_of_the_command_line_wins_over_an_old_key_of_a_landscape(tmp_path, capsys):
    source = written(tmp_path, {"landscape": {"equal": "epochs"}})
    assert landscape_specification(source, exported(source), {}).landscape.match == "epochs"
    assert capsys.readouterr().err == "seedwise: landscape.equal is now called landscape.match\n"
    assert landscape_specification(source, exported(source), {"match": "updates"}).landscape.match == "updates"
