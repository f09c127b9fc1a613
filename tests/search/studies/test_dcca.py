"""A search of continued pretraining on a tiny world, and another method that starts from its encoder."""

import json

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from seedwise.errors import RequestError
from seedwise.search.ledger.file import read
from seedwise.search.spec.load import read as specify
from seedwise.trainables.ear.trainable import Ear
from seedwise.trainables.stitching.trainable import Stitching
from seedwise.trainables.streams import Streams
from seedwise.trainables.world import FILES
from tests import tiny
from tests.prepared import prepare
from tests.search.studies.test_search import board, run

CHANGES = [
    "task.targets=[qan]",
    "space={alignment: [dcca, none], steps: 4, words: 64, directions: 16, top_k: 5, blocks: 4, lr: 1e-3, layer: 4,"
    " pooling: pieces, weight: [0.1, 10.0], freeze_layers: 0, tune_epochs: 1, tune_lr: 3e-3, tune_batch_size: 8}",
    "budget.runs=3",
    "replicates={policy: fixed, n: 1, confirm: {top: 1, fresh: 1}}",
    "select={metric: correlation, on: unlabelled}",
    "enqueue=[{alignment: dcca, weight: 10.0}, {alignment: none}]",
    "inputs.text_blocks=64",
    "tracking.uri=off",
]


@pytest.fixture(scope="module")
def searched(tmp_path_factory, ray_here):
    home = tmp_path_factory.mktemp("dcca")
    written = tiny.topics(home / "topics", ("qel", "qan"))
    for language in ("qel", "qan"):
        (home / language).write_text("".join(f"{text}\n" for _, text in written[f"{language}/dev"][:12]))
    entries = (FILES / "lexicons/qel-qan.txt").read_text().splitlines(keepends=True)
    for part, name in enumerate(("learnt.txt", "probe.txt")):
        (home / name).write_text("".join(entries[part::2]))
    changes = [*CHANGES, f"task.data={home / 'topics'}"]
    changes += [f"inputs.parallel={{qan: ['{home / 'qan'}', '{home / 'qel'}']}}"]
    changes += ["inputs.lexicons={qan: learnt.txt}", "inputs.probes={qan: probe.txt}"]
    return home, run(home, "search", "demo-dcca", *tiny.words(changes))


def test_the_search_ranks_by_unlabelled_correlation_and_confirms_the_best(searched):
    home, output = searched
    rows = board(home / "runs" / "demo-dcca")
    own = [row for row in rows if not row["baseline"]]
    assert [row["params"]["alignment"] for row in own] == ["dcca", "none"]
    assert {row["baseline"] for row in rows if row["baseline"]} == {"untouched", "MLM only"}
    state = read(home / "runs" / "demo-dcca" / "ledger.jsonl")
    for own_row in own:
        metrics = state.configurations[own_row["config_id"]].runs[0].metrics
        score = (metrics["dev/correlation/qel"] + metrics["dev/correlation/qan"]) / 2
        assert own_row["mean"] == pytest.approx(score)
    assert "correlation on unlabelled (mean)" in output
    assert "oracle" not in output


def test_retrieval_and_the_test_sets_are_in_the_confirmation_alone(searched):
    state = read(searched[0] / "runs" / "demo-dcca" / "ledger.jsonl")
    for configuration in state.configurations.values():
        for replicate, done in configuration.runs.items():
            tested = {name for name in done.metrics if name.startswith("test/")}
            assert bool(tested) == (replicate >= 1000)
            assert ("test/retrieval/qan" in tested) == bool(tested)
            assert {"dev/lexicon/qan", "dev/mlm_loss/qel", "dev/macro_f1/qan"} <= done.metrics.keys()


def test_another_method_starts_from_the_exported_encoder(searched):
    home, _ = searched
    exported = run(home, "export", "runs/demo-dcca", "--model", "continued")
    assert "another search can start from it: --set model=" in exported
    assert "the scores are those of the search" in exported
    folder = home / "continued" / "encoder"
    assert json.loads((folder / "config.json").read_text())["architectures"] == ["BertForMaskedLM"]
    # EAR begins with all of its weights, and stitching reconstructs the word table that was just trained.
    trained = load_file(folder / "model.safetensors")
    ear = prepare(Ear, specify("demo-ear", [f"model={folder}", "task.targets=[qan]"]).as_dict())
    begun = Ear(ear, {"layer": 2}, Streams(0, 0), torch.device("cpu")).learner.model.state_dict()
    shared = [name for name in trained if name in begun]
    assert len(shared) > 4 * 10  # of four layers
    for name in shared:
        np.testing.assert_array_equal(begun[name].numpy(), trained[name], err_msg=name)
    table = prepare(Stitching, specify("demo", [f"model={folder}"]).as_dict())
    word_table = "embeddings.word_embeddings.weight"
    np.testing.assert_array_equal(table.encoder.weights[word_table], trained[f"bert.{word_table}"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["inputs.text={}"], r"^inputs\.text: dcca pretrains on unlabelled text\. Add a file for each language"),
        (["inputs.text={qel: world:text/qel.txt.gz}"], r"^inputs\.text\.qan: this language has no file\."),
        (["inputs.text=world:text/qel.txt.gz"], r"^inputs\.text: .* has no \{language\} in it\."),
        (["inputs.static={}"], r"^inputs\.static: the alignment of space needs static vectors\."),
        (["space.static=other"], r"^space\.static: there is no inputs\.static\.other\."),
        (
            ["inputs.static={a: 'world:vectors/{language}.vec.gz', b: 'world:vectors/{language}.vec.gz'}"],
            r"^space\.static: it must name one of a, b\.",
        ),
        (["inputs.align=off"], r"^inputs\.lexicons: only inputs\.align reads them\."),
        (["inputs.probes={qor: nowhere.txt}"], r"^inputs\.probes\.qor: nowhere\.txt: there is no such file"),
        (["inputs.parallel={qzz: [a, b]}"], r"^inputs\.parallel\.qzz: not a language of the task"),
        (["inputs.synonyms=x.json"], r"^inputs\.synonyms: dcca does not read it\. Remove it\."),
        (["inputs.vectors={qan: x.vec}"], r"^inputs\.vectors: dcca does not read it\. Remove it\."),
        (["select={metric: macro_f1, on: unlabelled}"], r"^select\.on: unlabelled, but macro_f1 needs labels"),
        (["select={metric: retrieval}"], r"^select\.on: retrieval uses translations\. Write select\.on: target_dev"),
        (["select={metric: lexicon, on: target_dev}"], r"^inputs\.probes\.qan: lexicon selects, and needs it"),
        (["space.tune_epochs=0"], r"^space\.tune_epochs: macro_f1 selects, which needs a classifier"),
        (
            ["select={metric: correlation, on: pivot_dev}", "task.pivots=[qor]", "task.targets=[qan]"],
            r"^select\.on: pivots",
        ),
        (["inputs.static={}", "select={metric: correlation, on: unlabelled}"], r"^inputs\.static: correlation selects"),
        (["enqueue=[{tune_epochs: 0}]"], r"^enqueue\.0\.tune_epochs: macro_f1 selects, which needs a classifier"),
        (["inputs.lexicons={qan: world:lexicons/qel-qan.txt}"], r"^inputs\.lexicons\.qor: inputs\.align needs it"),
        (["baselines={mse: {static: other}}"], r"^baselines\.mse\.static: there is no inputs\.static\.other"),
        (["prune=asha"], r"^prune: dcca has no score before its last epochs"),
        (["select.metric=bleu"], r"^select\.metric: 'bleu' is not recorded"),
    ],
)
def test_missing_and_misplaced_inputs_are_one_line(changes, message):
    with pytest.raises(RequestError, match=message):
        specify(
            "demo-dcca", ["baselines={}", *changes]
        )  # with baselines, reading a specification takes three times as long


def test_inputs_of_dcca_are_refused_by_other_methods():
    with pytest.raises(RequestError, match=r"^inputs\.text: ear does not read it\. Remove it\."):
        specify("demo-ear", ["inputs.text=world:text/{language}.txt.gz"])
    with pytest.raises(RequestError, match=r"^inputs\.align: stitching does not read it\. Remove it\."):
        specify("demo", ["inputs.align=orthogonal"])
    with pytest.raises(RequestError, match=r"^select\.metric: 'correlation' is not recorded"):
        specify("demo", ["select.metric=correlation"])
