"""Exported configurations: complete, in three formats, and refused with other data."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from scipy import stats

from seedwise import yaml12
from seedwise.search.commands.main import main
from seedwise.search.export.formats import training_arguments
from seedwise.search.export.rerun import other_inputs, read_best, rerun_specification
from seedwise.search.spec.load import recorded
from seedwise.search.spec.provenance import checksums
from seedwise.search.spec.schema import Specification
from seedwise.spaces import config_id
from seedwise.trainables.streams import Streams
from tests.search.hand_written import HandWritten, demo, metrics, specification


@pytest.fixture
def folder(tmp_path):
    return demo().write(tmp_path / "demo")


def exported(folder, *options):
    assert main(["export", str(folder), *options]) == 0
    return folder


def test_best_yaml_is_complete(folder):
    content = yaml12.load((exported(folder) / "best.yaml").read_text())
    assert (content["name"], content["method"]) == ("demo", "stitching")
    assert (content["config_id"], content["rank"]) == ("good", 1)
    assert content["model"] == "world:source-encoder"
    assert content["task"]["targets"] == ["qan", "qor"]
    assert content["checksums"] == {"task.data": "d" * 64}
    assert (content["tied_with"], content["compared"]) == (["same"], 5)
    assert [replicate["replicate"] for replicate in content["replicates"]] == [0, 1, 2, 1000, 1001, 1002]
    assert content["replicates"][3]["seeds"] == Streams(0, 1000).all_seeds()
    assert (content["versions"], content["revision"]) == ({"python": "3.11"}, "abc")
    assert content["made_by"] == "python run_search.py search demo"
    assert content["rerun_by"] == f"seedwise run {folder}/best.yaml"
    (baseline,) = content["baselines"]
    assert baseline["test"]["test/macro_f1"]["qan"]["mean"] == pytest.approx(0.1)


def test_dev_and_test_scores_have_intervals_whose_variance_is_pooled_with_that_of_other_configurations(folder):
    """`good` and `same` spread; `poor` has 0.3 twice and `flat` draws nothing, so they say nothing of seeds."""
    content = yaml12.load((exported(folder) / "best.yaml").read_text())
    of = {"dev": ([0.61, 0.65, 0.63], [0.66, 0.64, 0.65]), "test": ([0.55, 0.58, 0.56], [0.55, 0.58, 0.56])}
    for split, (scores, others) in of.items():
        variance = max(np.var(scores, ddof=1), (2 * np.var(scores, ddof=1) + 2 * np.var(others, ddof=1)) / 4)
        low, high = stats.t.interval(0.95, 4, np.mean(scores), (variance / 3) ** 0.5)
        known = {"mean": np.mean(scores), "sd": np.std(scores, ddof=1), "n": 3, "failed": 0}
        summary = content[split][f"{split}/macro_f1"]["qan"]
        assert summary == pytest.approx(known | {"ci_low": low, "ci_high": high})


def test_best_yaml_has_no_yaml_aliases(folder):
    assert "*id" not in (exported(folder) / "best.yaml").read_text()


def test_the_n_best_and_the_tied_ones_are_whole_files_with_their_rank(folder):
    exported(folder, "--top", "3")
    contents = [read_best(folder / "top" / f"best-{rank}.yaml") for rank in (1, 2, 3)]
    assert [(content["config_id"], content["rank"]) for content in contents] == [("good", 1), ("same", 2), ("poor", 3)]
    assert [content["tied_with"] for content in contents] == [["same"], ["good"], []]
    assert contents[2]["rerun_by"].endswith("top/best-3.yaml")
    assert contents[2]["confirmed"] is None
    exported(folder, "--tied", "--to", str(folder / "alike"), "--format", "json")
    assert sorted(path.name for path in (folder / "alike").iterdir()) == ["best-1.json", "best-2.json"]
    assert read_best(folder / "alike" / "best-2.json")["config_id"] == "same"


def test_json_and_yaml_have_the_same_content(folder):
    exported(folder)
    exported(folder, "--format", "json")
    ours, theirs = read_best(folder / "best.yaml"), read_best(folder / "best.json")
    assert theirs.pop("rerun_by") == ours.pop("rerun_by").removesuffix("yaml") + "json"
    assert theirs == ours


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format", "xml"], "--format xml: there is no such format. Write one of yaml, json, hf."),
        (["--top", "9"], "--top 9: only 4 configurations have a rank. Ask for fewer."),
        (["--top", "2", "--tied"], "--top 2: --tied already sets the number. Leave out --top or --tied."),
        (["--top", "2", "--model", "m"], "--model m: it exports only the best. Leave out --top."),
        (["--tied", "--model", "m"], "--model m: it exports only the best. Leave out --tied."),
    ],
)
def test_conflicting_options_are_one_line(folder, capsys, options, message):
    assert main(["export", str(folder), *options]) == 2
    assert capsys.readouterr().err == f"seedwise: {message}\n"
    assert [path.name for path in folder.iterdir()] == ["ledger.jsonl"]


def test_unwritable_paths_and_existing_files_are_one_line(folder, capsys):
    path = str(folder / "ledger.jsonl" / "x")
    for options, kind in ((["--to", path], "file"), (["--top", "2", "--to", path], "folder")):
        assert main(["export", str(folder), *options]) == 2
        assert capsys.readouterr().err.endswith(f"Name a {kind} that can be written.\n")
    exported(folder, "--top", "3")
    capsys.readouterr()
    assert main(["export", str(folder), "--top", "2"]) == 2
    assert "top/best-3.yaml: this file is left over from an earlier, longer export. Remove" in capsys.readouterr().err


def test_without_a_second_seed_ties_are_not_reported(tmp_path, capsys):
    search = HandWritten(specification())
    for name, k in {"a": 50, "b": 40}.items():
        search.ask(name, k=k, weighting="standard")
        search.run(name, 0, metrics("dev", 0.8, 0.6, 0.5))
    folder = search.write(tmp_path / "s")
    exported(folder)
    content = read_best(folder / "best.yaml")
    assert content["tied_with"] is None
    assert content["score"]["p_best"] is None
    capsys.readouterr()
    assert main(["export", str(folder), "--tied"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("seedwise: --tied: no configuration has two replicates")
    assert error.count("\n") == 1
    assert not (folder / "tied").exists()


def test_an_empty_search_has_nothing_to_export(tmp_path, capsys):
    assert main(["export", str(HandWritten(specification()).write(tmp_path))]) == 2
    assert "no run has finished yet" in capsys.readouterr().err


def one_run(base, **params):
    """A hand-written search of one configuration, for any method."""
    resolved = specification(base=base)
    search = HandWritten(resolved)
    search.ask("only", **params)
    search.run("only", 0, metrics("dev", 0.8, 0.6, 0.5))
    return search


@pytest.mark.parametrize(
    ("base", "params", "expected"),
    [
        (
            "demo",
            {"k": 50, "weighting": "standard", "lr": 3e-5, "epochs": 7, "batch_size": 16, "accumulation": 4},
            {"learning_rate": 3e-5, "num_train_epochs": 7, "per_device_train_batch_size": 16}
            | {"gradient_accumulation_steps": 4, "lr_scheduler_type": "linear", "max_grad_norm": 1.0},
        ),
        (
            "demo-ear",
            {"schedule": "constant", "warmup": 0.1, "weight_decay": 0.01, "gradient_checkpointing": "selective"},
            {"lr_scheduler_type": "constant_with_warmup", "warmup_steps": 0.1, "weight_decay": 0.01}
            | {"gradient_checkpointing": True},
        ),
        (
            "demo-dcca",
            {"alignment": "none", "steps": 300, "blocks": 12, "block_batch": 4},
            {"max_steps": 300, "per_device_train_batch_size": 4, "gradient_accumulation_steps": 3},
        ),
        (
            "demo-dcca",
            {"alignment": "none", "steps": 300, "blocks": 10, "block_batch": 4},
            {"per_device_train_batch_size": 10, "gradient_accumulation_steps": 1},
        ),
    ],
)
def test_transformers_accepts_the_hf_format(tmp_path, monkeypatch, base, params, expected):
    from transformers import TrainingArguments

    search = one_run(base, **params)
    folder = exported(search.write(tmp_path / "s"), "--format", "hf")
    content = json.loads((folder / "best.hf.json").read_text())
    own = content.pop("seedwise")
    assert content.keys() <= {field.name for field in dataclasses.fields(TrainingArguments)}
    monkeypatch.setattr(TrainingArguments, "_setup_devices", torch.device("cpu"))  # which would need accelerate
    made = TrainingArguments(output_dir=str(tmp_path / "out"), **content)
    assert {name: getattr(made, name) for name in expected} == expected
    assert (made.seed, made.metric_for_best_model, made.greater_is_better) == (0, "macro_f1", True)
    assert own["config_id"] == "only"
    assert own["params"] == recorded(search.state).parts.space.complete(params)
    assert own["seeds"]["0"] == Streams(0, 0).all_seeds()


def test_a_decomposition_is_checked_once_and_varies_the_streams_of_its_method(tmp_path, monkeypatch):
    folder = exported(one_run("demo", k=50, weighting="standard").write(tmp_path / "s"))
    checked = []
    monkeypatch.setattr("seedwise.search.spec.load.check", lambda specification, **_: checked.append(specification))
    content = read_best(folder / "best.yaml")
    content["config_id"] = config_id(content["params"])
    specification = rerun_specification(content, None, decompose=True)
    assert checked == [specification]
    assert specification.decompose == ["head", "order", "dropout"]  # this run draws no anchors


def rerunnable(folder):
    """The best of a search of one run, as if it were of the data that are there now."""
    content = read_best(exported(one_run("demo", k=50, weighting="standard").write(folder)) / "best.yaml")
    content["config_id"] = config_id(content["params"])
    content["checksums"] = checksums(Specification.model_validate(content["specification"]))
    (folder / "best.yaml").write_text(yaml12.dump(content))
    return content


@pytest.mark.parametrize("decompose", [False, True])
def test_a_rerun_takes_settings_as_a_search_does_and_leaves_the_exported_content_alone(tmp_path, decompose):
    content = rerunnable(tmp_path / "s")
    before = json.dumps(content)
    settings = [
        "select.on=target_dev",
        "checkpoints.at=x",
        "tracking.uri=off",
        "name=other",
        "resources.cpus_per_run=2",
    ]
    specification = rerun_specification(content, 3, settings, decompose=decompose)
    assert (specification.select.on, specification.select.metric) == ("target_dev", "macro_f1")
    assert specification.checkpoints.path == "x"  # by its former name
    assert (specification.tracking.uri, specification.name) == ("off", "other")
    assert specification.resources.cpus_per_run == 2
    assert specification.enqueue == [content["params"]]
    assert json.dumps(content) == before
    unchanged = rerun_specification(content, 3, decompose=decompose)
    assert (unchanged.select.on, unchanged.name) == ("source_dev", f"demo-{'decompose' if decompose else 'rerun'}")


FIX_SEARCH = "Leave it out, or start a search with it."
FIX_COUNT = "Set their number with --replicates N."


@pytest.mark.parametrize(
    ("setting", "start", "fix"),
    [
        ("space.k=7", "--set space.k: a rerun uses the method and the parameters of its file. ", FIX_SEARCH),
        ("method=ear", "--set method: a rerun uses the method", FIX_SEARCH),
        ("compat=paper", "--set compat: a rerun uses the method", FIX_SEARCH),
        ("enqueue=[{k: 1}]", "--set enqueue: a rerun uses the method", FIX_SEARCH),
        ("sampler=tpe", "--set sampler: a rerun has one configuration. ", FIX_SEARCH),
        ("prune=asha", "--set prune: a rerun has one configuration. ", FIX_SEARCH),
        ("baselines=[ls]", "--set baselines: a rerun has one configuration. ", FIX_SEARCH),
        ("budget.runs=9", "--set budget.runs: a rerun uses the replicates of its file. ", FIX_COUNT),
        ("replicates.confirm.top=0", "--set replicates.confirm.top: a rerun uses the replicates", FIX_COUNT),
        ("seed=1", "--set seed: a rerun uses the seeds of its file. ", "for more seeds: --replicates N."),
        (
            "decompose=[head]",
            "--set decompose: --decompose varies every stream that the method uses. ",
            "Leave it out.",
        ),
        ("landscape.directions=0", "--set landscape.directions: a rerun has no landscape. ", "takes the same file."),
        ("select.on=pivots", "select.on: ", ""),
        ("selct.on=pivot_dev", "selct: there is no such key. Did you mean select?", ""),
        ("select.on", "--set select.on: there is no value. ", "for example --set budget.runs=20."),
        ("select.on=[", "--set select.on=[: the value is not YAML", ""),
        (
            "model.x=1",
            "--set model.x=1: model is 'world:source-encoder' there, which has no keys.",
            "Set model as a whole.",
        ),
    ],
)
def test_what_a_rerun_cannot_change_is_refused_in_one_line(tmp_path, capsys, monkeypatch, setting, start, fix):
    monkeypatch.chdir(tmp_path)
    rerunnable(tmp_path / "s")
    capsys.readouterr()
    assert main(["run", "s/best.yaml", "--set", "tracking.uri=off", "--set", setting]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"seedwise: {start}")
    assert error.endswith(f"{fix}\n")
    assert error.count("\n") == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("command", "option"), [("run", "--decompose"), ("landscape", "--dry-run")])
def test_data_that_a_setting_names_are_compared_with_those_of_the_file(tmp_path, capsys, monkeypatch, command, option):
    monkeypatch.chdir(tmp_path)
    was = rerunnable(tmp_path / "s")["checksums"]["inputs.lexicons.qan"]
    (tmp_path / "words.txt").write_text("a b\n")
    capsys.readouterr()
    assert main([command, "s/best.yaml", option, "--set", "inputs.lexicons.qan=words.txt"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"seedwise: s/best.yaml: its inputs have changed: inputs.lexicons.qan (was {was[:10]}, is ")
    assert error.count(" (was ") == 1
    assert not (tmp_path / "runs").exists()


def test_half_precision_and_users_methods():
    search = one_run("demo", k=50, weighting="standard", precision="bf16")
    content = {"params": search.state.configurations["only"].params, "method": "stitching", "replicates": []}
    keys = ("name", "model", "task", "checksums", "config_id", "rank", "selected_by", "score", "confirmed", "tied_with")
    content |= dict.fromkeys((*keys, "dev", "test", "versions", "revision", "made_by"))
    content["specification"] = search.resolved
    assert training_arguments(content)["bf16"] is True
    content["method"] = {"trainable": "mine:Mine", "space": "mine:space"}
    assert training_arguments(content).keys() == {"seed", "metric_for_best_model", "greater_is_better", "seedwise"}


def test_run_refuses_other_data_and_says_which(folder, tmp_path, capsys, monkeypatch):
    """The checksums in the file differ from those of the world's files."""
    monkeypatch.chdir(tmp_path)
    exported(folder)
    content = yaml12.load((folder / "best.yaml").read_text())
    now = checksums(Specification.model_validate(content["specification"]))
    before = {**now, "model": "a" * 64}
    del before["inputs.lexicons.qan"]
    assert other_inputs({"checksums": now}, now) == []
    assert other_inputs({"checksums": before}, now) == [
        f"inputs.lexicons.qan (was no file, is {now['inputs.lexicons.qan'][:10]})",
        f"model (was aaaaaaaaaa, is {now['model'][:10]})",
    ]
    (tmp_path / "other.yaml").write_text(
        yaml12.dump({**content, "config_id": config_id(content["params"]), "checksums": before})
    )
    capsys.readouterr()
    assert main(["run", "other.yaml"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("seedwise: other.yaml: its inputs have changed: inputs.lexicons.qan (was no file, is ")
    assert "model (was aaaaaaaaaa, is " in error
    assert error.endswith("Bring those files back, or run it on these with --allow-changed-inputs.\n")
    assert "task.data" not in error
    assert error.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_with_allow_changed_inputs_it_runs_and_says_which_differ(folder, tmp_path, capsys, monkeypatch):
    from seedwise.search.studies import launch

    class Launched(Exception):
        pass

    def launched(*_: object, **__: object) -> None:
        raise Launched

    monkeypatch.setattr(launch, "search", launched)
    content = yaml12.load((exported(folder) / "best.yaml").read_text())
    content["config_id"] = config_id(content["params"])
    (tmp_path / "other.json").write_text(json.dumps(content))
    with pytest.raises(Launched):
        main(["run", str(tmp_path / "other.json"), "--allow-changed-inputs"])
    assert "its inputs have changed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "{", "a.json: not JSON:"),
        ("a.yaml", "a: [", "a.yaml: not YAML:"),
        (
            "a.hf.json",
            '{"seed": 0, "seedwise": {}}',
            "this is for transformers (--format hf). Export it as yaml or json",
        ),
        ("b.json", "[]", "not an exported configuration. Make one with"),
    ],
)
def test_a_file_that_cannot_be_rerun_is_one_line(tmp_path, capsys, name, text, message):
    (tmp_path / name).write_text(text)
    assert main(["run", str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_confirmation_in_which_all_runs_fail_has_no_score_and_ends_all_the_same(tmp_path):
    """It once left the search without an end: `optimism` was taken of a mean that there is not."""
    search = demo()
    for event in search.events:
        if event["event"] == "result" and event["replicate"] >= 1000:
            event.update(status="failed:oom", metrics={})
    content = yaml12.load((exported(search.write(tmp_path / "s")) / "best.yaml").read_text())
    confirmed = content["confirmed"]
    assert (confirmed["failed"], confirmed["replicates"]) == (3, 3)
    assert [confirmed[name] for name in ("mean", "sd", "ci_low", "ci_high", "optimism")] == [None] * 5
    assert content["test"] == {}
