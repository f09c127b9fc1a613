"""Rebuild every file of the world: `python -m tools.world.build [--out DIR] [--seed 0]`.

Text and dictionaries come out byte for byte the same everywhere. Vectors and encoders depend on the numerical libraries
in their last digits, so compare those by their scores (`benchmarks/world.py`).
"""

import argparse
import csv
import gzip
import io
import json
import os
import shutil
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from seedwise.trainables.world import FILES, SOURCE
from tools.world.concepts import TOPICS
from tools.world.dictionaries import lexicon, synonyms
from tools.world.language import Language, make_languages
from tools.world.text import USUAL_WORD_IN_TASK, plans, render
from tools.world.vectors import as_text, train_vectors

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

SIZES = {"train": 600, "dev": 200, "test": 400}  # SIB-200 has 701, 99 and 204
USUAL = {"dtype": "float32", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}  # options for fine-tuning


def main() -> None:
    parser = argparse.ArgumentParser(description="Rebuild the made-up languages, their data and their encoders.")
    parser.add_argument("--out", type=Path, default=FILES, help="folder to write (default: the shipped one)")
    parser.add_argument("--seed", type=int, default=0, help="another seed makes other languages (default: 0)")
    arguments = parser.parse_args()
    started = time.monotonic()

    def tell(line: str) -> None:
        print(f"{time.monotonic() - started:5.0f} s  {line}", flush=True)

    corpora = {}
    for name, content in texts(arguments.seed).items():
        write(arguments.out / name, content)
        if name.startswith("text/"):
            corpora[name.removeprefix("text/").removesuffix(".txt.gz")] = content.splitlines()
    tell("wrote sentences, lexicons and synonyms")
    for code, sentences in corpora.items():
        write(arguments.out / f"vectors/{code}.vec.gz", as_text(*train_vectors(sentences)))
        tell(f"wrote word vectors of {code}")
    build_encoders(arguments.out, corpora, arguments.seed, tell)


def texts(seed: int) -> dict[str, str]:
    """Every text file but the vectors, by its name. Pure: the same seed gives the same characters."""
    languages = make_languages(seed)
    files = {}
    for code, language in languages.items():
        files[f"text/{code}.txt.gz"] = "\n".join(corpus(language, seed)) + "\n"
        files[f"topics/{code}/labels.txt"] = "\n".join(TOPICS) + "\n"
        for split, size in SIZES.items():
            files[f"topics/{code}/{split}.tsv"] = labelled(language, split, size, seed)
        if code != SOURCE:
            pairs = lexicon(languages[SOURCE], language, seed)
            files[f"lexicons/{SOURCE}-{code}.txt"] = "".join(f"{a} {b}\n" for a, b in pairs)
    files[f"synonyms/{SOURCE}.json"] = json.dumps(synonyms(languages[SOURCE], seed), indent=0) + "\n"
    return files


def corpus(language: Language, seed: int) -> list[str]:
    """Unlabelled sentences of one language."""
    code = language.recipe.code
    random = Random(f"{seed}/corpus/{code}")
    return [render(plan, language, random) for plan in islice(plans(seed, f"corpus/{code}"), language.recipe.sentences)]


def labelled(language: Language, split: str, size: int, seed: int) -> str:
    """A labelled split in SIB-200's layout. The plans do not depend on the language: equal index, equal meaning."""
    random = Random(f"{seed}/{split}/{language.recipe.code}")
    table = io.StringIO()
    writer = csv.writer(table, dialect="excel-tab", lineterminator="\n")
    writer.writerow(["index_id", "category", "text"])
    for index, plan in enumerate(islice(plans(seed, split), size)):
        writer.writerow([index, TOPICS[plan.topic], render(plan, language, random, USUAL_WORD_IN_TASK)])
    return table.getvalue()


def build_encoders(out: Path, corpora: dict[str, list[str]], seed: int, tell: Callable[[str], None]) -> None:
    """Pretrain the two encoders. torch is imported here so that the text half of this module starts at once."""
    import torch

    from tools.world import encoders

    torch.set_num_threads(1)  # models this small are slower on several cores
    everything = [sentence for sentences in corpora.values() for sentence in sentences]
    todo = {
        "source-encoder": (encoders.SOURCE_SHAPE, corpora[SOURCE]),
        "multilingual-encoder": (encoders.MULTILINGUAL_SHAPE, everything),
    }
    for name, (shape, sentences) in todo.items():
        tokenizer = encoders.train_tokenizer(sentences, shape.pieces)
        model = encoders.untrained(tokenizer, shape, seed)
        tell(f"{name}: {len(tokenizer)} pieces, {model.num_parameters():,} parameters, {len(sentences):,} sentences")
        encoders.warm_start(model, tokenizer, sentences)
        encoders.pretrain(model, tokenizer, sentences, shape, seed, tell)
        save_encoder(out / name, model, tokenizer)
        tell(f"wrote {name}")


def save_encoder(folder: Path, model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerFast") -> None:
    """Half-precision weights to save space, under a configuration that asks for what fine-tuning needs."""
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}")
    model.half().save_pretrained(temporary)
    tokenizer.save_pretrained(temporary)
    settings = json.loads((temporary / "config.json").read_text())
    (temporary / "config.json").write_text(json.dumps(settings | USUAL, indent=2, sort_keys=True) + "\n")
    shutil.rmtree(folder, ignore_errors=True)
    temporary.rename(folder)


def write(target: Path, content: str) -> None:
    """Write under a temporary name and rename: a reader never sees half a file. Names ending in .gz are compressed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode()
    if target.suffix == ".gz":
        data = gzip.compress(data, mtime=0)  # no time stamp, or every rebuild would differ
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    temporary.write_bytes(data)
    temporary.replace(target)


if __name__ == "__main__":
    main()
