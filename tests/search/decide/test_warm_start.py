import pytest

from seedwise.errors import RequestError
from seedwise.search.decide import warm_start
from seedwise.search.ledger.file import Ledger
from seedwise.search.spec.load import read


def read_earlier(folders, specification):
    return warm_start.read_earlier(folders, specification.parts.estimator.selection, specification.as_dict()["method"])


def earlier(folder, scores, *overrides):
    """A search folder with one run for each score; the configurations differ in k."""
    specification = read("demo", ["enqueue=[]", *overrides])
    ledger = Ledger(folder / "ledger.jsonl")
    ledger.append({"event": "search", "search_id": "e", "specification": specification.as_dict()})
    for k, score in enumerate(scores, start=2):
        run = {"config_id": f"c{k}", "replicate": 0, "phase": "search"}
        params = specification.parts.space.complete({"k": k})
        ledger.append({"event": "ask", "config_id": f"c{k}", "params": params, "suggested": {}, "ask": k})
        ledger.append({"event": "start", **run})
        metrics = {f"dev/macro_f1/{language}": score for language in ("qel", "qan", "qor")}
        ledger.append({"event": "result", **run, "status": "done", "metrics": metrics, "seconds": 1.0})
    ledger.close()
    return folder


def test_configurations_come_best_first_in_sds_of_their_own_search(tmp_path):
    folders = [earlier(tmp_path / "a", [0.1, 0.2, 0.3]), earlier(tmp_path / "b", [0.9, 0.5, 0.7])]
    configurations = read_earlier(folders, read("demo"))
    assert {configuration["params"]["k"] for configuration in configurations[:2]} == {2, 4}  # the best of each search
    assert [configuration["params"]["k"] for configuration in configurations[2:]] == [
        3
    ]  # the middle of both searches, once
    assert configurations[0]["score"] == pytest.approx(configurations[1]["score"], abs=1e-3)
    assert configurations[0]["score"] == pytest.approx(1.2247, abs=1e-3)  # of three equally spaced scores
    assert read_earlier([], read("demo")) == []


def test_warm_starts_do_not_leak_target_labels(tmp_path):
    oracle = earlier(tmp_path / "oracle", [0.1, 0.2], "select.on=target_dev")
    with pytest.raises(RequestError, match=r"selected on labels of qan, a target of this search. Leave it out"):
        read_earlier([oracle], read("demo"))
    assert read_earlier([oracle], read("demo", ["select.on=target_dev"]))
    files = ["inputs.vectors={qan: 'world:vectors/qan.vec.gz'}", "inputs.lexicons={qan: 'world:lexicons/qel-qan.txt'}"]
    alone = earlier(tmp_path / "alone", [0.1, 0.2], "task.targets=[qan]", *files, "select.on=target_dev")
    other = [change.replace("qan", "qor") for change in files]
    assert read_earlier([alone], read("demo", ["task.targets=[qor]", *other]))  # labels of another language do not leak


def test_an_unusable_earlier_search_is_one_line(tmp_path):
    with pytest.raises(RequestError, match=r"--from .*nowhere: there is no search here"):
        read_earlier([tmp_path / "nowhere"], read("demo"))
    with pytest.raises(RequestError, match="none of its runs has finished"):
        read_earlier([earlier(tmp_path / "empty", [])], read("demo"))
