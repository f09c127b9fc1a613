"""Every ready specification is valid once the files that it names exist: here they are stand-ins of a few bytes."""

from contextlib import chdir
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from search import yaml12
from search.specification import Specification, read
from tests.conftest import ROOT, real
from trainables.tasks.layouts import LAYOUTS

ROWS = {"taxi1500": "1\tFaith\tx\n", "amazon": '{"stars": "1", "review_body": "x"}\n'}


@cache
def specification(name: str) -> Specification:
    """A ready specification, read beside stand-ins of the files that it names."""
    config = ROOT / "configs" / f"{name}.yaml"
    content = yaml12.load(config.read_text(encoding="utf-8"))
    task, inputs = content["task"], content["inputs"]
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
    found = specification(name)
    assert found.name == name
    assert set(found.baselines) == {"ls", "lr", "zero_shot", "constant"}
    assert found.task.source.startswith("en")


@pytest.mark.parametrize("name", ["mosecrot-taxi1500", "mosecrot-amazon"])
def test_the_papers_settings_are_its_tables_at_five_seeds(name):
    found = specification(name)
    rows = [params for params, _ in found.load_space().grid()]
    assert {(row["k"], row.get("weighting", "any"), row["anchors"]) for row in rows} == {
        *((50, weighting, "all") for weighting in ("standard", "softmax", "sparsemax")),  # Tables 1 and 2
        *((k, "standard" if k != 1 else "any", "all") for k in (1, 10, 100, "all")),  # Table 3
        *(("all", "standard", anchors) for anchors in (500, 3000)),  # Table 4
    }
    assert {row["lr"] for row in rows} == {1e-5}
    assert (found.model, found.inputs.multilingual) == ("bert-base-cased", "bert-base-multilingual-cased")
    assert (found.compat, found.replicates.resolved()["n"]) == ("paper", 5)
    # The budget pays for all of them, on dev and on test.
    assert found.replicates.confirm.top == len(rows)
    assert found.budget.runs == len(rows) * (5 + found.replicates.confirm.fresh)


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
    found = read(str(ROOT / "configs" / f"{name}.yaml"), [f"{key}={path}" for key, path in changes.items()])
    assert found.task.targets == [language]
