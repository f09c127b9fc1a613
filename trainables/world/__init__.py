"""The embedded default: three small made-up languages with corpora, vectors, lexicons and two tiny encoders.

The world has a small imitation of all real data (a fine-tuning set, word vectors, a bilingual lexicon, a pretrained
encoder), so that a search runs offline on a laptop. `docs/world.md` says how faithful the imitation is.
"""

from pathlib import Path

from seedwise.trainables.inputs.files import FILES

SOURCE = "qel"  # ISO 639 reserves the codes from qaa to qtz for private use, so no real language has them
TARGETS = ("qan", "qor")


def path(name: str) -> Path:
    """The shipped file or folder called `name`, such as "topics", "vectors/qan.vec.gz" or "source-encoder"."""
    file = FILES / name
    if not file.exists():
        have = ", ".join(sorted(entry.name for entry in FILES.iterdir())) if FILES.exists() else "nothing"
        raise FileNotFoundError(f"The world has no '{name}', but {have}. Rebuild: python -m tools.world.build")
    return file
