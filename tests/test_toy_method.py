"""Adding a method takes its folder, its space and one line of the table of methods, and nothing else.

`tests/toy` has the folder and the space. They are put into a copy of the project (of links), and the programs of these
tests import that.
"""

import json
import os
import subprocess
import sys

import pytest

from seedwise import yaml12
from tests import tiny
from tests.conftest import ROOT

SPECIFICATION = {
    "name": "toy",
    "method": "toy",
    "model": "world:source-encoder",
    "task": {"name": "sib200", "data": "topics", "source": "qel", "targets": ["qan"]},
    "inputs": {"ignored": "ignored.txt"},
    "baselines": ["plain"],
    "sampler": "random",
    "budget": {"runs": 7},
    "replicates": {"policy": "fixed", "n": 2, "confirm": {"top": 1, "fresh": 3}},
    "tracking": {"uri": "off"},
}
TITLE = "most frequent class"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The project with the toy method."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "seedwise").mkdir()
    rooms = {"search": ROOT / "search", "spaces": ROOT / "spaces", "trainables": ROOT / "trainables"}
    own = {path.name: path for path in (ROOT / "seedwise").iterdir() if path.name not in rooms}
    linked(folder / "seedwise", own | {"search": rooms["search"]})
    linked(folder / "seedwise" / "spaces", {path.name: path for path in rooms["spaces"].iterdir()})
    linked(folder / "seedwise" / "trainables", {path.name: path for path in rooms["trainables"].iterdir()})
    linked(folder / "seedwise" / "spaces", {"toy.py": ROOT / "tests" / "toy" / "space.py"})
    linked(folder / "seedwise" / "trainables", {"toy": ROOT / "tests" / "toy" / "method"})
    table = folder / "seedwise" / "trainables" / "methods.py"
    text = table.read_text()
    table.unlink()
    table.write_text(text.replace("METHODS = {\n", 'METHODS = {\n    "toy": "seedwise.trainables.toy.spec",\n'))
    return folder


def linked(folder, paths):
    folder.mkdir(exist_ok=True)
    for name, path in paths.items():
        if name != "__pycache__":
            (folder / name).symlink_to(path)


@pytest.fixture
def run(project, tmp_path):
    """A Python of that project, in a folder with a specification of the toy method."""
    tiny.topics(tmp_path / "topics", ("qel", "qan"))
    (tmp_path / "ignored.txt").write_text("se\nba\n")
    (tmp_path / "toy.yaml").write_text(yaml12.dump(SPECIFICATION))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(project), str(ROOT)])}

    def run(*arguments, code=0):
        line = [sys.executable, "-P", *map(str, arguments)]
        done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def test_the_toy_method_keeps_the_contract_of_methods(run):
    contract = ROOT / "tests" / "trainables" / "test_contract.py"
    assert "toy" not in contract.read_text()
    options = (
        "-n0",
        "-p",
        "no:cacheprovider",
        "-k",
        "toy or slow or share or bibliography",
        "--import-mode",
        "append",
        "--rootdir",
        ROOT,
        "-c",
        ROOT / "pyproject.toml",
    )
    output = run("-m", "pytest", *options, "-rA", "--disable-warnings", contract)
    assert "test_the_class_of_its_runs_is_a_method_which_keeps_the_contract[toy]" in output
    assert "test_every_configuration_of_a_baseline_is_accepted_and_canonical[toy-plain]" in output


def test_a_specification_of_the_toy_method_is_read_and_its_inputs_are_checked(run, tmp_path):
    output = run("-m", "seedwise", "search", "toy.yaml", "--dry-run")
    resolved = yaml12.load("\n".join(line for line in output.splitlines() if not line.startswith("#")))
    assert resolved["inputs"]["ignored"] == "ignored.txt"
    assert resolved["inputs"]["lower"] is False
    assert "# space: infinite (smoothing continuous)" in output
    assert "# baselines: 1 configurations at 2 replicates, beside the budget" in output
    changes = {
        "inputs.ignored=nowhere.txt": "inputs.ignored: nowhere.txt: there is no such file. Write the path of one that "
        "exists.",
        "inputs={}": "inputs.ignored: toy leaves words out. Add a file with one word a line.",
        "inputs.lower=2": "inputs.lower: 2 is wrong: input should be a valid boolean, unable to interpret input.",
        "inputs.synonyms=ignored.txt": "inputs.synonyms: toy does not read it. Remove it.",
        "space.smoothing=0": "space.smoothing: 0.0 is wrong: input should be greater than 0.",
        "space.smoothness=1": "space.smoothness: there is no such dimension. Did you mean smoothing?",
        "compat=paper": "compat: 'paper': this method has only ours, printed. Choose one.",
        "baselines=[adv]": "baselines.adv: there is no such baseline. There are: plain.",
        "select.on=unlabelled": "select.on: unlabelled, but macro_f1 needs labels or translations. Choose known_words, "
        "or on: source_dev.",
    }
    program = (
        "import json, sys\n"
        "from seedwise.errors import RequestError\n"
        "from seedwise.search.spec.load import read\n"
        "assert read('toy.yaml', ['compat=printed']).parts.space.complete({})['smoothing'] == 1.0\n"
        "read('toy.yaml', ['select.metric=known_words', 'select.on=unlabelled'])\n"
        "for change in json.loads(sys.argv[1]):\n"
        "    try:\n"
        "        read('toy.yaml', [change])\n"
        "    except RequestError as error:\n"
        "        print(error)\n"
    )
    assert run("-c", program, json.dumps(list(changes))).splitlines() == list(changes.values())
    printed = run("-m", "seedwise", "search", "toy.yaml", "--set", "inputs.ignored=nowhere.txt", code=2)
    assert printed == f"seedwise: {changes['inputs.ignored=nowhere.txt']}\n"


BY_HAND = """
import json, sys
from pathlib import Path
from seedwise.search.export import best
from seedwise.search.export.card import Card
from seedwise.search.export.formats import as_text
from seedwise.search.spec.load import read
from seedwise.search.spec.load import recorded
from seedwise.spaces.baselines import baseline_space
from seedwise.spaces import load
from seedwise.trainables.streams import Streams
from tests.search.hand_written import HandWritten

specification = read("toy.yaml")
parts, method = specification.parts, specification.parts.method
inputs, tests = method.prepare(specification, parts.candidates), method.prepare_test(specification)
search = HandWritten(parts.resolved)
own = [*parts.space.first(), *(params for params, _ in parts.baseline_spaces["plain"].grid())]
for name, params in zip(("own", "other"), own, strict=True):
    search.ask(name, **params)
    for replicate in (0, 1):
        given = dict(params)
        run = method.class_for(given)(inputs, given, Streams(specification.seed, replicate), None)
        for number in range(run.steps):
            metrics = run.step(number)
        search.run(name, replicate, metrics)
search.freeze("own", baselines=("other",))
for name in ("own", "other"):
    search.run(name, 1000, metrics | run.test(tests))
search.end()
results = recorded(search.state).parts.results(search.state)
content = best.content(results, best.ranking(results, "")[0], Path("best.yaml"))
Path("best.yaml").write_text(as_text(content, "yaml"))
Path("card.md").write_text(Card(content, "model", 0, metrics, "Counts.").text())
of_ear = baseline_space("ear", "plain", load("ear", "default"), {})
print(json.dumps({"own": own, "of_ear": next(of_ear.grid())[0], "rows": results.leaderboard}))
"""


def test_runs_baseline_best_yaml_and_card_of_the_toy_method(run, tmp_path):
    answer = json.loads(run("-c", BY_HAND))
    own, plain = answer["own"]
    assert own == {"smoothing": 1.0, "sentences": 40}
    assert plain == {"baseline": "plain", "sentences": 40}  # follows the method, whose space has 40
    assert answer["of_ear"].keys() > {"baseline", "lr", "epochs"}  # the other baseline of this name
    best = yaml12.load((tmp_path / "best.yaml").read_text())
    assert (best["method"], best["params"], best["model"]) == ("toy", own, "world:source-encoder")
    assert best["score"]["mean"] > 0.4  # the more frequent of two classes alone scores little over 1/3
    assert [baseline["baseline"] for baseline in best["baselines"]] == [TITLE]
    card = (tmp_path / "card.md").read_text()
    assert "pipeline_tag: text-classification" in card
    assert "A score is that of a count." in card
    assert "@article{maron-1961-automatic," in card


@pytest.mark.extended
def test_a_whole_search_of_the_toy_method_and_its_exported_model(run, tmp_path):
    run("-m", "seedwise", "search", "toy.yaml")
    folder = tmp_path / "runs" / "toy"
    assert [baseline["baseline"] for baseline in yaml12.load((folder / "best.yaml").read_text())["baselines"]] == [
        TITLE
    ]
    (row, *others) = json.loads((folder / "leaderboard.json").read_text())
    assert row["mean"] > 0.4
    assert row["fresh"]["replicates"] == 3
    assert ["baseline" in candidate["params"] for candidate in others] == [False, True]
    assert set(row["fresh"]["scores"]["test/macro_f1"]) == {"qel", "qan", "mean_all"}
    assert TITLE in (folder / "report.html").read_text()
    run("-m", "seedwise", "export", folder, "--model", "models")
    assert "@article{maron-1961-automatic," in (tmp_path / "models" / "model" / "README.md").read_text()
