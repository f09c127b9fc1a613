"""The model card of an exported model, as the hub's own library reads it."""

import re
from pathlib import Path

import pytest
from huggingface_hub import ModelCard
from huggingface_hub.repocard import metadata_load

from seedwise import yaml12
from seedwise.search.commands.main import main
from seedwise.search.export import best
from seedwise.search.export.card import Card
from seedwise.search.spec.provenance import checksums
from seedwise.search.spec.schema import Specification
from seedwise.trainables.methods import METHODS, spec_of
from tests.search.hand_written import HandWritten, demo, metrics, specification

USE = "A classifier.\n\n    from transformers import pipeline\n"


def content_of(search):
    results = search.results
    return best.content(results, best.ranking(results, "")[0], Path("best.yaml"))


@pytest.fixture(scope="module")
def content():
    return content_of(demo())


def test_the_hub_reads_the_front_matter_and_the_results(content, tmp_path):
    path = tmp_path / "README.md"
    own = metrics("dev", 0.81, 0.61, 0.5) | metrics("dev", 0.9, 0.7, 0.6, metric="accuracy")
    path.write_text(Card(content, "qan", 0, own, USE).text())
    data = ModelCard.load(path).data
    assert data.language == ["qan"]
    assert data.tags == ["seedwise", "stitching"]
    assert data.pipeline_tag == "text-classification"
    assert data.base_model is None  # a local file is not a hub id
    assert metadata_load(path)["metrics"] == ["f1"]
    results = {
        (result.dataset_split, result.metric_type, result.dataset_config): result.metric_value
        for result in data.eval_results
    }
    assert results == {
        ("validation", "f1", "qan"): 0.61,
        ("validation", "accuracy", "qan"): 0.7,
        ("test", "f1", "qan"): pytest.approx(0.5633),
    }
    names = [result.metric_name for result in data.eval_results]
    assert names[-1] == "macro_f1, mean of this configuration over 3 seeds, sd 0.015"


def test_the_card_shows_seed_scores_intervals_baselines_ties_and_the_rerun_command(content):
    text = Card(content, "qan", 0, metrics("dev", 0.81, 0.61, 0.5), USE).text()
    for said in (
        USE.strip(),
        "| base model | world:source-encoder |",
        "| task | sib200, world:topics (SHA-256 dddddddddddd) |",
        "weighting: softmax",
        "Its weights are those of one run, replicate 0 of search seed 0.",
        "| dev | macro_f1 | qan | 0.610 |",
        "| dev | macro_f1 | qan | 0.630 ± 0.020 | 0.598 .. 0.662 | 3 |",  # 2.776 * .02 / sqrt(3) is .0321
        "| test | macro_f1 | qan | 0.563 ± 0.015 |",
        "| test | macro_f1, baseline: constant | qan | 0.100 ± 0.000 |",
        "1 other cannot be told apart from it: same.",
        "python run_search.py search demo",
        "seedwise run best.yaml",
        "Code revision abc; python 3.11.",
        "@inproceedings{ye-etal-2024-mosecrot,",
    ):
        assert said in text, said
    assert "| qel |" not in text  # the stitched model reads only the target


def test_the_card_of_a_choice_without_ties_says_so(content):
    text = Card({**content, "tied_with": []}, "qan", 0, {}, USE).text()
    assert "No other configuration of the search is tied with it." in text


def test_the_card_reports_failures_and_a_missing_confirmation(content):
    failed = {**content, "confirmed": {**content["confirmed"], "failed": 2, "replicates": 5}}
    assert "Failed, and not in these means: 2 of 5 runs on fresh seeds." in Card(failed, "qan", 0, {}, USE).text()
    text = Card({**content, "confirmed": None, "test": {}}, "qan", 0, {}, USE).text()
    assert "It was not confirmed." in text
    assert "Failed" not in text
    assert "model-index" not in text  # there is nothing to report


def test_a_hub_model_and_a_hub_data_set_are_named_in_the_front_matter(content):
    task = {**content["task"], "data": "Davlan/sib200", "source": "eng_Latn", "targets": ["fra_Latn"]}
    other = {**content, "checksums": {}, "model": "google-bert/bert-base-cased", "task": task, "method": "ear"}
    front = Card(other, "model", 1000, {}, USE).front()
    assert (front.base_model, front.datasets) == ("google-bert/bert-base-cased", ["Davlan/sib200"])
    assert front.language == ["eng", "fra"]
    assert "one run, fresh seed 1 of search seed" in Card(other, "model", 1000, {}, USE).text()


def test_the_card_of_an_encoder_is_for_fill_mask_and_says_where_its_scores_come_from():
    search = HandWritten(specification(base="demo-dcca"))
    search.ask("only", alignment="none")
    search.run("only", 0, metrics("dev", 0.8, 0.6, 0.5))
    card = Card(content_of(search), "encoder", 0, metrics("dev", 0.8, 0.6, 0.5), USE)
    assert card.front().pipeline_tag == "fill-mask"
    assert "a classifier that was fine-tuned from it" in card.text()
    assert "Whether others are tied with it is unknown: no configuration ran on two seeds." in card.text()
    assert "hammerl-etal-2022-combining" in card.text()


def test_a_users_method_without_a_task_has_a_card_too(content):
    other = {**content, "method": {"trainable": "mine:Mine", "space": "mine:space"}, "task": None, "model": None}
    text = Card(other, "model", 0, {"value": 1.0}, USE).text()
    assert "| method | mine:Mine |" in text
    assert "## Cite" not in text
    assert yaml12.load(text.split("---\n")[1])["tags"] == ["seedwise", "mine:Mine"]


@pytest.mark.parametrize("method", METHODS)
def test_citations_are_complete_entries(method):
    entry = spec_of(method).citation
    assert entry.count("{") == entry.count("}")
    fields = re.findall(r"^    (\w+) = ", entry, flags=re.MULTILINE)
    assert fields == ["title", "author", "booktitle", "year", "address", "publisher", "pages", "url"]


def test_an_exported_folder_has_the_card_and_keeps_what_the_method_says(tmp_path, monkeypatch, capsys):
    """One epoch of a real run: the smallest possible stitched model."""
    resolved = specification("space.epochs=1")
    search = HandWritten(resolved, checksums(Specification.model_validate(resolved)))
    search.ask("only", k=1)
    search.run("only", 0, metrics("dev", 0.8, 0.6, 0.5) | metrics("test", 0.7, 0.123, 0.4))
    search.end()
    monkeypatch.chdir(tmp_path)
    assert main(["export", str(search.write(tmp_path / "s")), "--model", "models"]) == 0
    card = ModelCard.load(tmp_path / "models" / "qan" / "README.md")
    assert card.data.language == ["qan"]
    assert "A classifier of qan text, stitched (MoSECroT)" in card.text
    assert "scores differ from the search's" in capsys.readouterr().out  # the ledger's checksums are made up
    assert "0.123" not in card.content  # the test score of another model
    own = {(result.dataset_split, result.metric_type): result.metric_value for result in card.data.eval_results}
    assert own["validation", "f1"] != 0.6
    assert {"README.md", "config.json", "model.safetensors"} <= {
        path.name for path in (tmp_path / "models/qan").iterdir()
    }


def test_no_model_is_trained_on_other_files_than_the_searchs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    resolved = specification("space.epochs=1")
    search = HandWritten(resolved, checksums(Specification.model_validate(resolved)) | {"task.data": "d" * 64})
    search.ask("only", k=1)
    search.run("only", 0, metrics("dev", 0.8, 0.6, 0.5))
    assert main(["export", str(search.write(tmp_path / "s")), "--model", "models"]) == 2
    error = capsys.readouterr().err
    assert "models: these inputs have changed since the search: task.data (was dddddddddd, is " in error
    assert error.endswith("Bring those files back.\n")
    assert (error.count("\n"), error.count("was ")) == (1, 1)
    assert not (tmp_path / "models").exists()
