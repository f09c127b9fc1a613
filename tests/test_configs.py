"""Every ready specification is valid if its files exist; here they are stand-ins of a few bytes."""

from contextlib import chdir
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from transformers import AutoConfig

from seedwise import yaml12
from seedwise.search.spec.load import read
from seedwise.search.spec.schema import Specification
from seedwise.trainables.ear.options import REFERENCE
from seedwise.trainables.ear.prepare import check_layers
from seedwise.trainables.request import Task, files_of
from seedwise.trainables.tasks.layouts import LAYOUTS
from seedwise.trainables.training.encoder import Encoder
from tests.conftest import ROOT, real

ROWS = {"taxi1500": "1\tFaith\tx\n", "amazon": '{"stars": "1", "review_body": "x"}\n'}


@cache
def specification(name: str) -> Specification:
    """A ready specification, read with stand-ins for the files that it names."""
    config = ROOT / "configs" / f"{name}.yaml"
    content = yaml12.load(config.read_text(encoding="utf-8"))
    task, inputs = content["task"], content["inputs"]
    if content["method"] == "ear":
        files = [inputs["synonyms"]]
    elif content["method"] == "dcca":
        files = [name for pair in inputs["parallel"].values() for name in pair]
        for key in ("text", "static"):
            files += dict(files_of(key, inputs[key], Task(**task).languages())).values()
    else:
        files = [*inputs["vectors"].values(), *inputs["lexicons"].values()]
    if task["name"] in ROWS:
        pattern = f"{task['data']}/{LAYOUTS[task['name']].files[0]}"
        for language, split in product([task["source"], *task["targets"]], ("train", "dev", "test")):
            files.append(pattern.replace("{language}", language).replace("{split}", split))
    with TemporaryDirectory() as folder, chdir(folder):
        for file in map(Path, files):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(ROWS.get(task["name"], ""))
        return read(str(config))


@pytest.mark.parametrize("name", [config.stem for config in (ROOT / "configs").glob("*.yaml")])
def test_a_ready_specification_is_valid_once_its_files_exist(name):
    spec = specification(name)
    assert spec.name == name
    if spec.landscape:
        assert spec.landscape.baseline == "plain"
    elif spec.method == "ear":
        assert {"plain", "rs_da"} <= set(spec.baselines)
    elif spec.method == "dcca":
        assert "untouched" in spec.baselines
    else:
        assert set(spec.baselines) == {"ls", "lr", "zero_shot", "constant"}
    assert spec.task.source.startswith("en")


@pytest.mark.parametrize("name", ["mosecrot-taxi1500", "mosecrot-amazon"])
def test_the_papers_settings_are_its_tables_at_five_seeds(name):
    spec = specification(name)
    rows = [params for params, _ in spec.parts.space.grid()]
    assert {(row["k"], row.get("weighting", "any"), row["anchors"]) for row in rows} == {
        *((50, weighting, "all") for weighting in ("standard", "softmax", "sparsemax")),  # Tables 1 and 2
        *((k, "standard" if k != 1 else "any", "all") for k in (1, 10, 100, "all")),  # Table 3
        *(("all", "standard", anchors) for anchors in (500, 3000)),  # Table 4
    }
    assert {row["lr"] for row in rows} == {1e-5}
    assert (spec.model, spec.inputs.multilingual) == ("bert-base-cased", "bert-base-multilingual-cased")
    assert (spec.compat, spec.replicates.resolved()["n"]) == ("paper", 5)
    # The budget covers all of them, on dev and on test.
    assert spec.replicates.confirm.top == len(rows)
    assert spec.budget.runs == len(rows) * (5 + spec.replicates.confirm.fresh)


PAWSX = {"de", "en", "es", "fr", "ja", "ko", "zh"}
XNLI = PAWSX - {"ja", "ko"} | {"ar", "bg", "el", "hi", "ru", "sw", "th", "tr", "ur", "vi"}
EAR = ("ept", "apt", 1.0, 0.1, 6)
SWAPPED = [("nt", "apt", None, 0.1, 6), ("ept", "srpt", 1.0, 0.1, 6)]  # Table A.4


@pytest.mark.parametrize(
    ("name", "model", "languages", "rows", "copies"),
    [
        ("ear-xnli-mbert", "bert-base-multilingual-cased", XNLI, None, 3),
        ("ear-xnli-xlmr", "FacebookAI/xlm-roberta-base", XNLI, [EAR, *SWAPPED], 3),
        ("ear-pawsx-mbert", "bert-base-multilingual-cased", PAWSX, [EAR], 10),
        ("ear-pawsx-xlmr", "FacebookAI/xlm-roberta-base", PAWSX, [EAR], 10),
    ],
)
def test_the_settings_of_ear_are_those_of_its_paper_at_five_fresh_seeds(name, model, languages, rows, copies):
    spec = specification(name)
    grid = [params for params, _ in spec.parts.space.grid()]
    if rows is None:
        assert len(grid) == 24  # all tables: tests/spaces/test_ear.py has them written out
    else:
        keys = ("push", "pull", "alpha", "beta", "layer")
        assert [tuple(params.get(key) for key in keys) for params in grid] == rows
    procedure = {"lr": 2e-5, "batch_size": 32, "epochs": 1, "copies": copies, "head": "linear", "matching": "exact"}
    assert all(procedure.items() <= params.items() for params in grid)
    assert (spec.model, spec.compat, spec.inputs.max_length) == (model, "paper", 128)
    assert ({spec.task.source, *spec.task.targets}, spec.task.source) == (languages, "en")
    assert (spec.select.metric, spec.select.on) == ("accuracy", "source_dev")  # never on test, as E2 has it
    # The budget pays for all of them, on dev and on test.
    assert (spec.replicates.confirm.top, spec.replicates.confirm.fresh) == (len(grid), 5)
    assert spec.budget.runs == len(grid) * (spec.replicates.resolved()["n"] + 5)
    # The baselines have EAR's one epoch, and as many encoder passes as EAR, which reads two streams of each copy.
    configurations = spec.parts.baselines.configurations
    epochs = {
        name: [params["epochs"] for params in configurations if params["baseline"] == name] for name in spec.baselines
    }
    expected = {"plain": [1, 2 * copies], "rs_da": [1, 2], "rs_rp": [1, 2 * copies], "adv": [1, copies]}
    assert epochs == {name: expected[name] for name in spec.baselines}


def test_the_sib200_specification_of_ear_runs_on_local_copies():
    encoder, data, synonyms = real("models/minimulti", "data/sib200", "data/ear/counterfitted_neighbors.json")
    changes = {"model": encoder, "task.data": data, "inputs.synonyms": synonyms}
    spec = read(str(ROOT / "configs" / "sib200-ear.yaml"), [f"{key}={path}" for key, path in changes.items()])
    assert spec.task.targets == ["fra_Latn", "tur_Latn", "swh_Latn"]
    space = spec.parts.space
    paper, released = (space.complete(params) for params in spec.enqueue[-2:])
    assert (paper["alpha"], paper["beta"], released["alpha"], released["beta"]) == (1.0, 0.1, 0.1, 1.0)  # E1
    assert {key: released.get(key, value) for key, value in REFERENCE.items()} == REFERENCE
    assert spec.budget.runs == len(spec.enqueue) * (1 + spec.replicates.confirm.fresh)
    passes = {params["baseline"]: params["epochs"] for params in spec.parts.baselines.configurations}
    assert passes == {"plain": 2 * 4, "rs_da": 2 * 4}  # four epochs of two streams
    config = AutoConfig.from_pretrained(encoder)
    check_layers("minimulti", Encoder(config.to_dict(), {}), spec.parts.candidates)
    assert config.num_hidden_layers == 6


@pytest.mark.parametrize(
    ("name", "language", "vectors", "lexicon"),
    [
        ("sib200-french", "fra_Latn", "fr.300d.vec.gz", "freedict/en-fr.txt"),
        ("sib200-swahili", "swh_Latn", "sw.100d.vec.gz", "freedict/en-sw.txt"),
    ],
)
def test_the_sib200_specifications_run_on_local_copies(name, language, vectors, lexicon):
    encoder, multilingual, data, vectors, lexicon = real(
        "models/minilm-en", "models/minimulti", "data/sib200", f"data/vectors/{vectors}", f"data/lexica/{lexicon}"
    )
    changes = {
        "model": encoder,
        "task.data": data,
        "inputs.multilingual": multilingual,
        f"inputs.vectors.{language}": vectors,
        f"inputs.lexicons.{language}": lexicon,
    }
    spec = read(str(ROOT / "configs" / f"{name}.yaml"), [f"{key}={path}" for key, path in changes.items()])
    assert spec.task.targets == [language]


def test_the_settings_of_dcca_are_the_four_rows_of_its_paper_in_forty_languages():
    spec = specification("dcca-xlmr")
    rows = [params for params, _ in spec.parts.space.grid()]
    assert [(row["alignment"], row.get("static")) for row in rows] == [
        ("none", None),
        ("dcca", "fasttext"),
        ("mse", "x2s_ma"),
        ("dcca", "x2s_ma"),
    ]
    assert {(row["steps"], row["blocks"], row["lr"]) for row in rows} == {(7500, 64, 5e-5)}
    assert (spec.model, spec.compat) == ("FacebookAI/xlm-roberta-base", "paper")
    assert len({spec.task.source, *spec.task.targets}) == 40
    # Tatoeba has 36 of them besides English; Malay, Burmese and Yoruba are missing.
    assert set(spec.task.targets) - set(spec.inputs.parallel) == {"zsm_Latn", "mya_Mymr", "yor_Latn"}
    assert spec.budget.runs == len(rows) * (1 + spec.replicates.confirm.fresh)
    assert (spec.replicates.confirm.top, spec.replicates.confirm.fresh) == (4, 3)


def test_the_sib200_specification_of_dcca_runs_all_rows_at_equal_steps():
    spec = specification("sib200-dcca")
    steps = {baseline["baseline"]: baseline.get("steps") for baseline in spec.parts.baselines.configurations}
    assert steps == {"untouched": None, "mlm": 60, "mse": 60}
    (own,) = (spec.parts.space.complete(params) for params in spec.enqueue)
    assert (own["steps"], own["alignment"]) == (60, "dcca")
