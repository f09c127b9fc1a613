"""The commands for static vectors, from the command line, on the embedded world."""

import re

import numpy as np
import pytest

from seedwise.errors import RequestError
from seedwise.search.commands.main import main
from seedwise.search.commands.vectors import by_language, settings_of
from seedwise.trainables.inputs.vectors import read_vectors
from seedwise.trainables.static.options import AlignOptions, ExtractOptions
from seedwise.trainables.world import path


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEDWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")


def printed(capsys, *arguments, code=0):
    assert main([str(argument) for argument in arguments]) == code
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_vectors_are_extracted_aligned_and_evaluated(tmp_path, capsys):
    settings = (
        "most_sentences=300",
        "epochs=1",
        "layer=2",
        "least_count=3",
        "subsampling=0",
    )  # few words for so little text
    options = [word for setting in settings for word in ("--set", setting)]
    for language in ("qel", "qan"):
        output = printed(
            capsys,
            *("vectors", "extract", "world:multilingual-encoder", path(f"text/{language}.txt.gz")),
            *("--language", language, "--to", tmp_path / f"{language}.vec", *options),
        )
        vectors = read_vectors(tmp_path / f"{language}.vec", "x", rows=10_000)
        assert f"wrote {tmp_path / language}.vec: {len(vectors.words)} words from 300 sentences" in output
        assert vectors.table.shape[1] == 64
    both = [f"{language}={tmp_path / language}.vec" for language in ("qel", "qan")]
    lexicon = path("lexicons/qel-qan.txt")
    output = printed(capsys, "vectors", "align", *both, "--dictionary", f"qan={lexicon}", "--to", tmp_path / "aligned")
    assert re.search(r"qan: (left un)?aligned by \d+ pairs; precision_at_1 0?\.\d+ before, 0?\.\d+ after", output)
    fixed = read_vectors(tmp_path / "aligned" / "qel.vec", "x", rows=10_000)
    np.testing.assert_allclose(np.linalg.norm(fixed.table, axis=1), 1, rtol=1e-4)  # normalised and nothing else
    files = [tmp_path / "aligned" / f"{language}.vec" for language in ("qel", "qan")]
    output = printed(capsys, "vectors", "evaluate", *files, "--lexicon", lexicon)
    scores = dict(line.split() for line in output.splitlines())
    assert {"coverage", "nn_p1", "csls_p1", "csls_p10", "csls_p1_all"} <= scores.keys()
    assert float(scores["nn_p1"]) <= float(scores["nn_p10"])


def test_word_similarity_is_printed_with_its_coverage(tmp_path, capsys):
    words = read_vectors(path("vectors/qel.vec.gz"), "x", rows=10).words
    lines = [f"{words[0]} {word} {9 - row}" for row, word in enumerate(words[1:6])] + [f"{words[0]} nowhere 1"]
    (tmp_path / "judged.txt").write_text("\n".join(lines) + "\n")
    output = printed(capsys, "vectors", "evaluate", path("vectors/qel.vec.gz"), "--similarity", tmp_path / "judged.txt")
    scores = dict(line.split() for line in output.splitlines())
    assert (scores["coverage"], scores["pairs"]) == ("0.833", "6")
    assert -1 <= float(scores["spearman"]) <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["extract", "world:multilingual-encoder", "nowhere.txt", "--language", "fr", "--to", "x.vec"],
            "TEXT: nowhere.txt",
        ),
        (
            ["align", "en", "fr=x.vec", "--to", "x"],
            "en: the language or file is missing. Write LANG=FILE, for example fr=fr.vec.",
        ),
        (["align", "en=a.vec", "en=b.vec", "--to", "x"], "en=b.vec: en is listed twice."),
        (
            ["align", "en=a.vec", "fr=b.vec", "--dictionary", "fi=c.txt", "--to", "x"],
            "--dictionary fi=...: no such lang",
        ),
        (["evaluate", "a.vec"], "vectors evaluate: nothing to evaluate by. Add --lexicon FILE or --similarity FILE."),
    ],
)
def test_a_mistake_is_reported_in_one_line_with_its_fix(arguments, message, capsys):
    output = printed(capsys, "vectors", *arguments, code=2)
    assert output.startswith(f"seedwise: {message}")
    assert output.count("\n") == 1


def test_vectors_of_two_widths_are_not_compared(tmp_path, capsys):
    (tmp_path / "narrow.vec").write_text("2 2\nba 1 0\ndai 0 1\n")
    output = printed(
        capsys,
        *("vectors", "evaluate", path("vectors/qel.vec.gz"), tmp_path / "narrow.vec"),
        *("--lexicon", path("lexicons/qel-qan.txt")),
        code=2,
    )
    assert "TARGET: 2 dimensions, but SOURCE has 50: not one space. Align them first: " in output
    assert output.endswith(f" align source={path('vectors/qel.vec.gz')} target={tmp_path}/narrow.vec --to aligned\n")


def test_settings_are_checked_by_name_and_type():
    assert settings_of(ExtractOptions, ["layer=3", "context=with", "lr=1e-2"]) == ExtractOptions(
        layer=3, context="with", lr=0.01
    )
    for kind, change, message in (
        (ExtractOptions, "layr=3", "--set layr: there is no such key. Did you mean layer?"),
        (ExtractOptions, "layer=two", "--set layer: 'two' is wrong: input should be a valid integer."),
        (
            AlignOptions,
            "preset=best",
            "--set preset: 'best' is wrong: input should be 'orthogonal', 'supervised' or 'aaai2018'.",
        ),
    ):
        with pytest.raises(RequestError) as raised:
            settings_of(kind, [change])
        assert str(raised.value) == message
    assert by_language(["a=b", "c=d=e"]) == {"a": "b", "c": "d=e"}
