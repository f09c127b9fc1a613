"""Extract, align and evaluate static vectors (docs/dcca.md)."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from seedwise.errors import RequestError, nearest
from seedwise.exit_codes import DONE
from seedwise.files import check_file_name
from seedwise.program import called
from seedwise.search.commands.arguments import add_commands, add_settings
from seedwise.validation import request_errors

if TYPE_CHECKING:
    from seedwise.trainables.inputs.vectors import Vectors

ROWS = 200_000  # words read from the top of a file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    extracting, aligning, evaluating = add_commands(parser, extract, align, evaluate)
    add = extracting.add_argument
    add("model", metavar="MODEL", help="a hub id or a folder")
    add("text", type=Path, metavar="TEXT", help="text of one language, one sentence a line; also .gz")
    add("--language", required=True, help="a code such as tr or tur_Latn, which decides how words are lower-cased")
    add("--to", type=Path, required=True, metavar="FILE", help="where to: NAME.vec or NAME.vec.gz")
    _add_options(extracting, "an option of the extraction, e.g. layer=4")
    add = aligning.add_argument
    add("fixed", metavar="LANG=FILE", help="the language whose space all vectors are mapped into")
    add("moving", nargs="+", metavar="LANG=FILE", help="the languages to be mapped")
    about = "lines with a word of the fixed language and a word of LANG (default: induced without supervision)"
    add("--dictionary", action="append", default=[], metavar="LANG=FILE", help=about)
    add("--to", type=Path, required=True, metavar="FOLDER", help="where to: FOLDER/LANG.vec of each")
    _add_options(aligning, "an option of the alignment, e.g. preset=orthogonal")
    add = evaluating.add_argument
    add("source", type=Path, metavar="SOURCE", help="vectors")
    add("target", type=Path, metavar="TARGET", nargs="?", help="in the same space (default: SOURCE)")
    add("--lexicon", type=Path, metavar="FILE", help="lines with a source word and a target word")
    add("--similarity", type=Path, metavar="FILE", help="pairs with scores, as in MUSE or SemEval-2017")


def _add_options(parser: argparse.ArgumentParser, help: str) -> None:
    add_settings(parser, help)
    parser.add_argument("--seed", type=int, default=0, help="the seed of all random draws (default: 0)")


def extract(options: argparse.Namespace, console: Console) -> int:
    """Train vectors of words from the states of an encoder (X2Static)."""
    from seedwise.trainables.inputs.files import locate
    from seedwise.trainables.static.extract import extract as run
    from seedwise.trainables.static.options import ExtractOptions

    settings, text = settings_of(ExtractOptions, options.set), locate(str(options.text), "TEXT")
    result = run(options.model, text, options.language, options.to, settings, options.seed, console)
    about = f"{result.words} words from {result.sentences} sentences, loss {result.loss:.3f} in the last epoch"
    console.print(f"wrote {options.to}: {about}", soft_wrap=True)
    for note in result.left_out:
        console.print(f"left out: {note}", soft_wrap=True)
    return DONE


def align(options: argparse.Namespace, console: Console) -> int:
    """Map vectors of many languages into the space of one of them (VecMap)."""
    import torch

    from seedwise.trainables.inputs.files import locate
    from seedwise.trainables.inputs.lexicons import read_lexicon
    from seedwise.trainables.static.align import align as run
    from seedwise.trainables.static.align import fixed_table
    from seedwise.trainables.static.options import AlignOptions
    from seedwise.trainables.static.write import write_vectors

    settings = settings_of(AlignOptions, options.set)
    files, dictionaries = by_language([options.fixed, *options.moving]), by_language(options.dictionary)
    fixed, *moving = files
    for language in dictionaries:
        if language not in moving:
            raise RequestError(f"--dictionary {language}=...", "no such language is mapped", nearest(language, moving))
    with console.status("reading the vectors") as status:
        vectors = {language: _writable(_read(name, language)) for language, name in files.items()}
        lexica = dict.fromkeys(moving)
        for language, name in dictionaries.items():
            key = f"--dictionary {language}"
            lexica[language] = read_lexicon(locate(name, key), key)
        aligned = run(
            vectors[fixed],
            {language: vectors[language] for language in moving},
            lexica,
            settings,
            options.seed,
            device="cuda" if torch.cuda.is_available() else "cpu",
            progress=status.update,
        )
        options.to.mkdir(parents=True, exist_ok=True)
        tables = {fixed: fixed_table(vectors[fixed], settings)}
        tables |= {language: result.table for language, result in aligned.items()}
        for language, table in tables.items():
            write_vectors(options.to / f"{language}.vec", vectors[language].words, table)
    for language, result in aligned.items():
        before, after = ("-" if value is None else f"{value:.3f}" for value in (result.before, result.after))
        what = "aligned" if result.aligned else "left unaligned"
        console.print(
            f"{language}: {what} by {len(result.pairs)} pairs; {result.measure} {before} before, {after} after",
            soft_wrap=True,
        )
        for note in result.notes:
            console.print(f"{language}: {note}", soft_wrap=True)
    console.print(f"wrote {options.to}/: {', '.join(f'{language}.vec' for language in files)}", soft_wrap=True)
    return DONE


def evaluate(options: argparse.Namespace, console: Console) -> int:
    """Evaluate vectors by lexicon induction and word similarity."""
    from seedwise.trainables.inputs.files import locate
    from seedwise.trainables.inputs.lexicons import read_lexicon
    from seedwise.trainables.static.evaluate import lexicon_induction, word_similarity
    from seedwise.trainables.static.similarity import read_judgements

    if not (options.lexicon or options.similarity):
        raise RequestError("vectors evaluate", "nothing to evaluate by", "Add --lexicon FILE or --similarity FILE.")
    with console.status("reading the vectors"):
        source = _read(options.source, "SOURCE")
        target = _read(options.target, "TARGET") if options.target else source
    if source.table.shape[1] != target.table.shape[1]:
        problem = f"{target.table.shape[1]} dimensions, but SOURCE has {source.table.shape[1]}: not one space"
        files = f"source={options.source}", f"target={options.target}"
        align_them = called("vectors", "align", *files, "--to", "aligned")
        raise RequestError("TARGET", problem, f"Align them first: {align_them}")
    sides = source.words, source.table, target.words, target.table
    if options.lexicon:
        entries = read_lexicon(locate(str(options.lexicon), "--lexicon"), "--lexicon").entries
        _show(console, lexicon_induction(*sides, [(entry.source, entry.target) for entry in entries]))
    if options.similarity:
        judgements = read_judgements(locate(str(options.similarity), "--similarity"), "--similarity")
        _show(console, word_similarity(*sides, judgements))
    return DONE


def _read(name: str | Path, key: str) -> "Vectors":
    from seedwise.trainables.inputs.files import locate
    from seedwise.trainables.inputs.vectors import read_vectors

    return read_vectors(locate(str(name), key), key, rows=ROWS)


def _writable(vectors: "Vectors") -> "Vectors":
    """The vectors without words that contain a space: a file with such words could not be read again."""
    kept = [row for row, word in enumerate(vectors.words) if not any(map(str.isspace, word))]
    return replace(vectors, words=[vectors.words[row] for row in kept], table=vectors.table[kept])


def _show(console: Console, scores: dict[str, float]) -> None:
    for name, value in scores.items():
        console.print(f"{name:<16} {value:.3f}" if value % 1 else f"{name:<16} {value:g}")


def by_language(arguments: list[str]) -> dict[str, str]:
    """Files by language, from arguments LANG=FILE."""
    files: dict[str, str] = {}
    for argument in arguments:
        language, equals, name = argument.partition("=")
        if not (equals and language and name):
            raise RequestError(argument, "the language or file is missing", "Write LANG=FILE, for example fr=fr.vec.")
        check_file_name("LANG=FILE", language)
        if language in files:
            raise RequestError(argument, f"{language} is listed twice", "Remove one.")
        files[language] = name
    return files


def settings_of(kind: type, changes: list[str]) -> Any:
    """Options of the class `kind` with `key=value` changes; values are YAML, as in a specification."""
    from seedwise.search.spec.load import set_all

    given: dict[str, Any] = {}
    set_all(given, changes)
    with request_errors("--set ", kind):
        return kind(**given)
