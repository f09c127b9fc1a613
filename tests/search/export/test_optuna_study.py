"""The search as an Optuna study, read back by Optuna and by a real dashboard."""

import contextlib
import json
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from seedwise.search.commands.main import main
from seedwise.search.export.optuna_study import write_study
from seedwise.search.ranking import leaderboard
from seedwise.search.spec.load import recorded
from tests.search.hand_written import demo, metrics
from tests.search.story import wait_for
from tests.servers import own_port


@pytest.fixture(scope="module")
def search():
    return demo()


@pytest.fixture(scope="module")
def file(search, tmp_path_factory):
    folder = search.write(tmp_path_factory.mktemp("study"))
    assert main(["export", str(folder), "--optuna", str(folder / "demo.db")]) == 0
    return folder / "demo.db"


def test_the_printed_command_is_quoted(search, tmp_path, capsys):
    folder = search.write(tmp_path / "search")
    assert main(["export", str(folder), "--optuna", str(tmp_path / "a b.db")]) == 0
    assert shlex.split(capsys.readouterr().out.strip().partition("look at it with: ")[2])[1:] == [
        f"sqlite:///{tmp_path / 'a b.db'}"
    ]


def study(path):
    return optuna.load_study(study_name=None, storage=f"sqlite:///{path}")


def test_optuna_reads_the_leaderboard(search, file):
    exported, state = study(file), search.state
    rows = leaderboard.leaderboard(state, recorded(state).parts.estimator)
    assert exported.study_name == "demo"
    assert exported.direction == optuna.study.StudyDirection.MAXIMIZE
    assert exported.user_attrs["selected_by"] == "macro_f1 on source_dev"
    assert "posterior mean" in exported.user_attrs["value"]
    assert exported.best_trial.user_attrs["config_id"] == rows[0]["config_id"]
    assert exported.best_value == rows[0]["estimate"]
    trials = {trial.user_attrs["config_id"]: trial for trial in exported.trials}
    assert list(trials) == ["good", "same", "poor", "bad", "cut"]  # in the order of proposal, without the baseline
    states = {name: trial.state for name, trial in trials.items()}
    assert states.pop("bad") == TrialState.FAIL
    assert states.pop("cut") == TrialState.PRUNED
    assert set(states.values()) == {TrialState.COMPLETE}
    for row in rows[:3]:
        trial = trials[row["config_id"]]
        assert trial.value == row["estimate"]
        kept = {name: trial.user_attrs[name] for name in ("n", "sd", "ci_low", "ci_high", "p_best", "tied", "status")}
        assert kept == {"n": row["replicates"], **{name: row[name] for name in kept if name != "n"}}
    assert trials["good"].user_attrs["fresh_mean"] == rows[0]["fresh"]["mean"]


def test_replicates_are_intermediate_values(search, file):
    trials = {trial.user_attrs["config_id"]: trial for trial in study(file).trials}
    runs = search.state.configurations["good"].runs
    of_search = {replicate: run.metrics["dev/macro_f1/qel"] for replicate, run in runs.items() if replicate < 1000}
    assert trials["good"].intermediate_values == of_search
    # The failed run of `poor`: 0.41 - (0.8 - 0.41) is below 0.
    assert trials["poor"].intermediate_values == pytest.approx({0: 0.0, 1: 0.42, 2: 0.41})
    assert trials["bad"].intermediate_values == {}
    assert trials["cut"].intermediate_values == {0: 0.9}


def test_parameters_have_the_distributions_of_the_space(file):
    good, poor = study(file).trials[0], study(file).trials[2]
    assert good.params == {"k": 50, "weighting": "softmax", "tau": 0.1}
    assert good.distributions["k"] == optuna.distributions.IntDistribution(1, 200, log=True)
    assert good.distributions["tau"] == optuna.distributions.FloatDistribution(0.01, 1.0, log=True)
    assert poor.params == {"k": 1}
    assert good.user_attrs["parameters"]["epochs"] == 6  # fixed ones are not dimensions


def test_a_configuration_outside_the_space_is_there_without_parameters(tmp_path):
    search = demo("space.k=[1, 100]")
    search.ask("far", k=200, weighting="standard")
    search.run("far", 0, metrics("dev", 0.5, 0.4, 0.3))
    state = search.state
    write_study(recorded(state).parts.results(state), tmp_path / "s.db")
    far = study(tmp_path / "s.db").trials[-1]
    assert (far.params, far.user_attrs["in_space"], far.user_attrs["parameters"]["k"]) == ({}, False, 200)


def test_an_existing_file_is_refused_in_one_line_and_not_changed(file, capsys):
    before = file.read_bytes()
    assert main(["export", str(file.parent), "--optuna", str(file)]) == 2
    problem = f"seedwise: --optuna {file}: this file exists already. Name another file, or delete it first.\n"
    assert capsys.readouterr().err == problem
    assert file.read_bytes() == before
    assert not list(file.parent.glob(".*"))


@pytest.mark.parametrize(
    "other", [["--top", "2"], ["--tied"], ["--to", "x.yaml"], ["--model", "m"], ["--format", "hf"]]
)
def test_a_study_cannot_be_combined_with_other_exports(file, other, tmp_path, capsys):
    assert main(["export", str(file.parent), "--optuna", str(tmp_path / "s.db"), *other]) == 2
    assert f"Leave out {other[0]}, or export twice." in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_unwritable_path_is_one_line(file, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["export", str(file.parent), "--optuna", str(tmp_path / "file" / "s.db")]) == 2
    assert "Name a file that can be written." in capsys.readouterr().err


def answer(port: int, path: str) -> dict:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as response:
        return json.load(response)


@pytest.mark.extended
def test_a_real_dashboard_opens_it(file):
    port = own_port()
    dashboard = str(Path(sys.executable).with_name("optuna-dashboard"))
    line = [dashboard, f"sqlite:///{file}", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ready() -> bool:
        assert process.poll() is None
        with contextlib.suppress(OSError):
            return bool(answer(port, "/api/studies"))
        return False

    try:
        wait_for(ready)
        (summary,) = answer(port, "/api/studies")["study_summaries"]
        assert summary["study_name"] == "demo"
        shown = answer(port, f"/api/studies/{summary['study_id']}?after=0")
    finally:
        process.terminate()
        process.wait()
    assert [trial["state"] for trial in shown["trials"]] == ["Complete", "Complete", "Complete", "Fail", "Pruned"]
    (best,) = shown["best_trials"]
    assert {"key": "config_id", "value": "good"} in best["user_attrs"]
    assert shown["has_intermediate_values"]
    values = [(point["step"], point["value"]) for point in shown["trials"][0]["intermediate_values"]]
    assert values == [(step, pytest.approx(value)) for step, value in enumerate((0.81, 0.83, 0.82))]
