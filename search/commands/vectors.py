"""The commands about static vectors: out of an encoder, into one space, and how good they are."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from seedwise import yaml12
from seedwise.errors import RequestError
from seedwise.files import check_file_name
from seedwise.suggest import nearest
from seedwise.validation import request_errors

ROWS = 200_000  # words read from the top of a file


def add_to(commands: argparse._SubParsersAction) -> None:
    """Add `vectors extract`, `vectors align` and `vectors evaluate` to the command line."""
    top = commands.add_parser("vectors", help="static vectors: extract, align, evaluate (docs/dcca.md)")
    kinds = top.add_subparsers(metavar="WHAT", required=True)

    one = kinds.add_parser("extract", help="train vectors of words from the states of an encoder (X2Static)")
    one.add_argument("model", metavar="MODEL", help="a hub id or a folder")
    one.add_argument("text", type=Path, metavar="TEXT", help="text of one language, one sentence a line; also .gz")
    one.add_argument("--language", required=True, help="its code, such as tr or tur_Latn: words are lower-cased by it")
    one.add_argument("--to", type=Path, required=True, metavar="FILE", help="where to: NAME.vec or NAME.vec.gz")
    _add_settings(one, "an option of the extraction, e.g. layer=4")
    one.set_defaults(command=extract)

    one = kinds.add_parser("align", help="bring vectors of many languages into the space of one (VecMap)")
    one.add_argument("fixed", metavar="LANG=FILE", help="the language whose space it is")
    one.add_argument("moving", nargs="+", metavar="LANG=FILE", help="the languages to be mapped into it")
    one.add_argument(
        "--dictionary",
        action="append",
        default=[],
        metavar="LANG=FILE",
        help="lines of a word of the fixed language and one of LANG (default: induced without supervision)",
    )
    one.add_argument("--to", type=Path, required=True, metavar="FOLDER", help="where to: FOLDER/LANG.vec of each")
    _add_settings(one, "an option of the alignment, e.g. preset=orthogonal")
    one.set_defaults(command=align)

    one = kinds.add_parser("evaluate", help="lexicon induction and word similarity")
    one.add_argument("source", type=Path, metavar="SOURCE", help="vectors")
    one.add_argument("target", type=Path, metavar="TARGET", nargs="?", help="in the same space (default: SOURCE)")
    one.add_argument("--lexicon", type=Path, metavar="FILE", help="lines of a source word and a target word")
    one.add_argument("--similarity", type=Path, metavar="FILE", help="pairs with scores, MUSE's or SemEval-2017's form")
    one.set_defaults(command=evaluate)


def _add_settings(one: argparse.ArgumentParser, help: str) -> None:
    one.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=help)
    one.add_argument("--seed", type=int, default=0, help="of all that is drawn (default: 0)")


def extract(options: argparse.Namespace, console: Console) -> int:
    from seedwise.trainables.inputs.paths import locate
    from seedwise.trainables.static.extract import extract as run
    from seedwise.trainables.static.options import ExtractOptions

    settings, text = settings_of(ExtractOptions, options.set), locate(str(options.text), "TEXT")
    found = run(options.model, text, options.language, options.to, settings, options.seed, console)
    read = f"{found.words} words from {found.sentences} sentences, loss {found.loss:.3f} in the last epoch"
    console.print(f"wrote {options.to}: {read}", soft_wrap=True)
    for note in found.left_out:
        console.print(f"left out: {note}", soft_wrap=True)
    return 0


def align(options: argparse.Namespace, console: Console) -> int:
    from seedwise.trainables.inputs.lexicons import read_lexicon
    from seedwise.trainables.inputs.paths import locate
    from seedwise.trainables.inputs.vectors import read_vectors
    from seedwise.trainables.static.align import align as run
    from seedwise.trainables.static.align import fixed_table
    from seedwise.trainables.static.align_options import AlignOptions
    from seedwise.trainables.static.write import write_vectors
    from seedwise.trainables.training.device import gpus_here

    settings = settings_of(AlignOptions, options.set)
    files = by_language([options.fixed, *options.moving])
    fixed, *moving = files
    dictionaries = by_language(options.dictionary)
    for language in dictionaries:
        if language not in moving:
            raise RequestError(f"--dictionary {language}=...", "no such language is mapped", nearest(language, moving))
    with console.status("reading the vectors") as status:
        vectors = {one: writable(read_vectors(locate(name, one), one, rows=ROWS)) for one, name in files.items()}
        lexica = {
            one: read_lexicon(locate(name, f"--dictionary {one}"), f"--dictionary {one}")
            for one, name in dictionaries.items()
        }
        found = run(
            vectors[fixed],
            {one: vectors[one] for one in moving},
            {one: lexica.get(one) for one in moving},
            settings,
            options.seed,
            device="cuda" if gpus_here() else "cpu",
            progress=status.update,
        )
        options.to.mkdir(parents=True, exist_ok=True)
        write_vectors(options.to / f"{fixed}.vec", vectors[fixed].words, fixed_table(vectors[fixed], settings))
        for language, one in found.items():
            write_vectors(options.to / f"{language}.vec", vectors[language].words, one.table)
    for language, one in found.items():
        before, after = ("-" if value is None else f"{value:.3f}" for value in (one.before, one.after))
        what = "aligned" if one.aligned else "left unaligned"
        console.print(
            f"{language}: {what} by {len(one.pairs)} pairs; {one.measure} {before} before, {after} after",
            soft_wrap=True,
        )
        for note in one.notes:
            console.print(f"{language}: {note}", soft_wrap=True)
    console.print(f"wrote {options.to}/: {', '.join(f'{one}.vec' for one in files)}", soft_wrap=True)
    return 0


def evaluate(options: argparse.Namespace, console: Console) -> int:
    from seedwise.trainables.inputs.lexicons import read_lexicon
    from seedwise.trainables.inputs.paths import locate
    from seedwise.trainables.inputs.vectors import read_vectors
    from seedwise.trainables.static.evaluate import lexicon_induction, word_similarity
    from seedwise.trainables.static.similarity import read_judgements

    if not (options.lexicon or options.similarity):
        raise RequestError("vectors evaluate", "nothing to evaluate by", "Add --lexicon FILE or --similarity FILE.")
    with console.status("reading the vectors"):
        source = read_vectors(locate(str(options.source), "SOURCE"), "SOURCE", rows=ROWS)
        target = source
        if options.target:
            target = read_vectors(locate(str(options.target), "TARGET"), "TARGET", rows=ROWS)
    if source.table.shape[1] != target.table.shape[1]:
        raise RequestError(
            "TARGET",
            f"{target.table.shape[1]} dimensions, but SOURCE has {source.table.shape[1]}: not one space",
            "Align them first: vectors align.",
        )
    sides = source.words, source.table, target.words, target.table
    if options.lexicon:
        entries = read_lexicon(locate(str(options.lexicon), "--lexicon"), "--lexicon").entries
        show(console, lexicon_induction(*sides, [(entry.source, entry.target) for entry in entries]))
    if options.similarity:
        show(
            console,
            word_similarity(
                *sides, read_judgements(locate(str(options.similarity), "--similarity"), "--similarity").pairs
            ),
        )
    return 0


def writable(vectors: Any) -> Any:
    """Vectors without words that hold a space, which nobody could read again."""
    kept = [row for row, word in enumerate(vectors.words) if not any(map(str.isspace, word))]
    return replace(vectors, words=[vectors.words[row] for row in kept], table=vectors.table[kept])


def show(console: Console, found: dict[str, float]) -> None:
    for name, value in found.items():
        console.print(f"{name:<16} {value:.3f}" if value % 1 else f"{name:<16} {value:g}")


def by_language(given: list[str]) -> dict[str, str]:
    """Files by language, from LANG=FILE."""
    found: dict[str, str] = {}
    for one in given:
        language, equals, name = one.partition("=")
        if not (equals and language and name):
            raise RequestError(one, "write LANG=FILE, for example fr=fr.vec")
        check_file_name("LANG=FILE", language)
        if language in found:
            raise RequestError(one, f"{language} stands there twice", "Remove one.")
        found[language] = name
    return found


def settings_of(kind: type, changes: list[str]) -> Any:
    """Options with `key=value` changes; values are YAML, as in a specification."""
    given = {}
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals:
            raise RequestError(f"--set {change}", "it has no value", "Write KEY=VALUE, for example --set seed=1.")
        try:
            given[key] = yaml12.load(value)
        except yaml12.YAMLError as error:
            raise RequestError(f"--set {change}", "the value is not YAML") from error
    with request_errors("--set ", kind):
        return kind(**given)
