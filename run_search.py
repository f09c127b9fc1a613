"""The command line of Seedwise: parses, calls, prints; no logic."""

import argparse
import sys
from pathlib import Path

from rich.console import Console

from seedwise.errors import RequestError, SearchError
from seedwise.search.cluster import submit
from seedwise.search.commands import vectors

DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130
DEFAULT_STORE = "sqlite:///runs/mlflow.db"


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the return value is the exit code."""
    options = parser().parse_args(arguments)
    here = Path.cwd()
    console = Console(markup=False, emoji=False, highlight=False)  # a path or an error may hold [brackets]
    try:
        return options.command(options, console)
    except RequestError as error:
        print(f"seedwise: {error}", file=sys.stderr)
        return WRONG
    except SearchError as error:
        print(f"seedwise: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        folder = getattr(options, "folder", None)
        begun = folder is not None and (here / folder / "ledger.jsonl").exists()
        again = f" Go on with: python run_search.py resume {folder}" if begun else ""
        print(f"seedwise: interrupted.{again}", file=sys.stderr)
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="run_search.py",
        description="Seed-aware hyperparameter search for zero-shot cross-lingual transfer. "
        "Without a command it runs the embedded demo.",
    )
    top.set_defaults(command=search, spec="demo", set=[], out=None, address=None, dry_run=False, earlier=[])
    commands = top.add_subparsers(metavar="COMMAND")

    one = commands.add_parser("search", help="start a search, or go on with it")
    one.add_argument("spec", metavar="SPEC", help="a YAML file, or a built-in name such as demo")
    one.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="override a key of it, e.g. budget.runs=20"
    )
    one.add_argument("--out", type=Path, metavar="DIR", help="the search folder (default: runs/NAME)")
    one.add_argument("--address", help="a running Ray cluster: auto or ray://host:port (default: this machine)")
    one.add_argument(
        "--from",
        dest="earlier",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="learn from an earlier search",
    )
    one.add_argument("--dry-run", action="store_true", help="print what would be searched, and start nothing")
    one.set_defaults(command=search)

    one = commands.add_parser("resume", help="go on after any interruption")
    one.add_argument("folder", type=Path, metavar="DIR")
    one.add_argument("--address", help="a running Ray cluster: auto or ray://host:port (default: this machine)")
    one.set_defaults(command=resume)

    one = commands.add_parser("status", help="what ran, what runs, what is left")
    one.add_argument("folder", type=Path, metavar="DIR", help="the search folder; with --uri the name of the search")
    one.add_argument("--uri", help="ask MLflow there, e.g. http://host:5000, where the folder cannot be seen")
    one.set_defaults(command=status)

    one = commands.add_parser("compare", help="the leaderboard; of several searches, which is better and by how much")
    one.add_argument("folders", type=Path, metavar="DIR", nargs="+")
    one.add_argument("--ui", action="store_true", help="open MLflow's comparison page on the best configurations")
    one.add_argument("--top", type=positive, default=10, metavar="N", help="how many of each search (default: 10)")
    one.add_argument("--port", type=port, default=5000, help="of the server that --ui starts (default: 5000)")
    one.set_defaults(command=compare)

    one = commands.add_parser("report", help="what was found, here and as one page: DIR/report.html")
    one.add_argument("folder", type=Path, metavar="DIR")
    one.set_defaults(command=report)

    one = commands.add_parser("export", help="the best configuration so far as a file that reruns it")
    one.add_argument("folder", type=Path, metavar="DIR")
    one.add_argument("--to", type=Path, metavar="FILE", help="where to (default: DIR/best.yaml, DIR/top, DIR/tied)")
    one.add_argument("--top", type=positive, metavar="N", help="the N best, as best-1.yaml ... in a folder")
    one.add_argument("--tied", action="store_true", help="all that cannot be told apart from the best, likewise")
    one.add_argument("--format", default="yaml", help="yaml, json, or hf: keys of TrainingArguments (default: yaml)")
    one.add_argument("--model", type=Path, metavar="FOLDER", help="also train the best and write its models")
    one.add_argument("--replicate", type=int, default=0, metavar="N", help="the seed of that training (default: 0)")
    one.add_argument("--register", metavar="NAME", help="also register the models in MLflow under this name")
    one.add_argument("--optuna", type=Path, metavar="FILE", help="nothing but the search as an Optuna study (SQLite)")
    one.set_defaults(command=export)

    one = commands.add_parser("run", help="rerun an exported configuration and compare its scores")
    one.add_argument("file", type=Path, metavar="FILE")
    one.add_argument("--replicates", type=positive, metavar="N", help="how many seeds (default: those of the file)")
    one.add_argument(
        "--out", type=Path, metavar="DIR", help="the search folder (default: runs/NAME-rerun, NAME-decompose)"
    )
    one.add_argument(
        "--decompose",
        action="store_true",
        help="vary one random stream at a time: where does the spread come from?",
    )
    one.add_argument("--anyway", action="store_true", help="also where data or model are not those of the file")
    one.set_defaults(command=rerun)

    one = commands.add_parser("landscape", help="why seeds disagree: what lies between models of one configuration")
    one.add_argument("file", metavar="FILE", help="an exported configuration (best.yaml), or a specification")
    one.add_argument("--replicates", type=positive, metavar="N", help="seeds of every model (default: 3)")
    one.add_argument("--equal", choices=("updates", "epochs"), help="of all models (default: updates; paper: epochs)")
    one.add_argument("--seeds-only", action="store_true", help="compare seeds alone: no target label is trained on")
    one.add_argument("--baseline", metavar="NAME", help="plain fine-tuning, or another baseline of ear, instead")
    one.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="any other key, e.g. landscape.directions=0"
    )
    one.add_argument("--out", type=Path, metavar="DIR", help="its folder (default: runs/NAME-landscape)")
    one.add_argument("--address", help="a running Ray cluster: auto or ray://host:port (default: this machine)")
    one.add_argument("--anyway", action="store_true", help="also where data or model are not those of the file")
    one.add_argument("--dry-run", action="store_true", help="print what would be trained and evaluated; starts nothing")
    one.set_defaults(command=landscape)

    submit.add_to(commands)

    vectors.add_to(commands)

    one = commands.add_parser("track", help="write a search into MLflow, or complete what an outage left open")
    one.add_argument("folder", type=Path, metavar="DIR")
    one.add_argument("--uri", default="", help="a store of your choice (default: that of the search)")
    one.set_defaults(command=track)

    one = commands.add_parser("ui", help="MLflow's pages on the right store, on 127.0.0.1")
    one.add_argument("folder", type=Path, metavar="DIR", nargs="?", help="the search folder (default: runs/mlflow.db)")
    one.add_argument("--port", type=port, default=5000, help="of the server (default: 5000)")
    one.set_defaults(command=ui)
    return top


def positive(text: str) -> int:
    """A whole number above 0, for an option."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number above 0")
    return int(text)


def port(text: str) -> int:
    """A port that a server may listen to, for an option."""
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"{text} is not a port: 1 to 65535")
    return int(text)


def search(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.spec.schema import read

    specification = read(options.spec, options.set)
    options.folder = options.out or Path("runs") / specification.name
    if options.dry_run:
        return dry_run(specification, options.earlier)
    from seedwise.search.ledger.state import read as read_ledger
    from seedwise.search.studies.launch import search as launch

    before = read_ledger(options.folder / "ledger.jsonl")
    state = launch(specification, options.folder, console, address=options.address, earlier_folders=options.earlier)
    return conclude(before.finished, state, options.folder, console, spec=options.spec)


def dry_run(specification: "Specification", earlier: list[Path]) -> int:  # noqa: F821 (imported where it is needed)
    from seedwise import yaml12
    from seedwise.search.cluster.placement import this_machine
    from seedwise.search.decide.warm_start import read_earlier
    from seedwise.search.tracking.mirror import mask

    warm = read_earlier(earlier, specification)
    print(mask(yaml12.dump(specification.as_dict())), end="")
    placement, slots = this_machine(specification.resources.model_dump())
    print(f"# slots: {slots} ({placement.cpus} CPU and {placement.gpus:g} GPU per run)")
    if specification.landscape:
        from seedwise.search.decide.landscape_plan import Plan

        print(f"# landscape: {Plan.of(specification.as_dict()).in_words()}")
        return DONE
    print(f"# space: {specification.load_space().size()}")
    standing = specification.standing()
    print(f"# budget: {specification.policy(standing).in_words()}")
    if baselines := specification.baseline_runs(standing):
        n, each = len(baselines.configurations), baselines.replicates
        print(f"# baselines: {n} configurations at {each} replicates, beside the budget")
    if warm:
        print(f"# from earlier searches: {len(warm)} configurations")
    return DONE


def resume(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.ledger.state import read
    from seedwise.search.studies.launch import resume as go_on

    before = read(options.folder / "ledger.jsonl")
    return conclude(before.finished, go_on(options.folder, console, address=options.address), options.folder, console)


def conclude(finished_before: str, state: "State", folder: Path, console: Console, *, spec: str = "SPEC") -> int:  # noqa: F821
    """Say how it ended and what to do next."""
    from seedwise.search.studies.decomposition import report as decompose
    from seedwise.search.studies.landscape_files import show as show_landscape

    if state.search["specification"]["landscape"]:
        return DONE if show_landscape(state, folder, console, nothing_new=bool(finished_before)) else FAILED
    if state.search["specification"]["decompose"]:
        decompose(state, folder, console)
        return DONE if any(not run.failed for run in state.runs()) else FAILED
    if finished_before:
        runs = sum(run.finished for run in state.runs())
        console.print(
            f"{folder} is finished ({runs} runs: {finished_before}); nothing was started. "
            f"A new search needs a new folder: python run_search.py search {spec} --out {folder}-2",
            soft_wrap=True,
        )
    show_leaderboard(state, console)
    files = {"leaderboard": "leaderboard.csv", "best": "best.yaml", "report": "report.html"}
    console.print("    ".join(f"{what}: {folder}/{name}" for what, name in files.items()), soft_wrap=True)
    if state.search["specification"]["tracking"]["uri"] != "off":
        console.print(f"compare in MLflow: python run_search.py ui {folder}", soft_wrap=True)
    console.print(f"rerun the best: python run_search.py run {folder}/best.yaml", soft_wrap=True)
    return DONE if any(not run.failed for run in state.runs()) else FAILED


def show_leaderboard(state: "State", console: Console) -> None:  # noqa: F821
    from seedwise.search.ranking.leaderboard import in_words, leaderboard, underspecification
    from seedwise.search.report.table import as_table
    from seedwise.search.spec.schema import standing_of

    standing = standing_of(state.search["specification"])
    rows = leaderboard(state, standing)
    console.print(as_table(rows, standing.selection, width=console.width))
    compared, runs = sum(not row["baseline"] for row in rows), sum(run.finished for run in state.runs())
    console.print(f"{compared} configurations, {runs} runs: {state.finished or 'not finished'}.")
    if price := in_words(underspecification(state, standing)):
        console.print(price, soft_wrap=True)


def status(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.report.status import show, show_from_store

    if options.uri:
        show_from_store(str(options.folder), options.uri, console)
    else:
        show(options.folder, console)
    return DONE


def compare(options: argparse.Namespace, console: Console) -> int:
    states = {folder: whole_search(folder, "Compare") for folder in options.folders}
    if len(states) == 1:
        show_leaderboard(*states.values(), console)
    else:
        from seedwise.search.report.compare import searches_of
        from seedwise.search.report.compare_table import show

        show(searches_of(states), console)
    if options.ui:
        from seedwise.search.tracking.mlflow_ui import show_comparison

        show_comparison(list(states.values()), options.top, options.port, console)
    return DONE


def whole_search(folder: Path, action: str) -> "State":  # noqa: F821
    """The state of a search that compares configurations; a decomposition is none."""
    from seedwise.search.ledger.state import read

    state = read(folder / "ledger.jsonl")
    if not state.search:
        raise RequestError(f"{folder}: there is no search here.")
    if state.search["specification"]["decompose"]:
        raise RequestError(f"{folder}: one configuration, streams apart. {action} the search it came from.")
    if state.search["specification"]["landscape"]:
        raise RequestError(f"{folder}: the landscape of one configuration. {action} the search it came from.")
    return state


def report(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.ledger.state import read
    from seedwise.search.report.findings import Findings
    from seedwise.search.report.html_report import write
    from seedwise.search.report.terminal import show
    from seedwise.search.spec.schema import standing_of
    from seedwise.search.studies.landscape_files import write_again

    if (known := read(options.folder / "ledger.jsonl")).search and known.search["specification"]["landscape"]:
        write_again(known, options.folder, console)
        return DONE
    state = whole_search(options.folder, "Report on")
    found = Findings(state, standing_of(state.search["specification"]))
    show(found, options.folder, console)
    try:
        path = write(found, options.folder, ended=state.finished)
    except OSError as error:
        raise RequestError(f"{options.folder}/report.html: {error.strerror}. Make room for it there.") from error
    console.print(f"wrote {path}", soft_wrap=True)
    return DONE


def export(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.export.best import Export, Request
    from seedwise.search.spec.schema import standing_of

    request = Request(
        options.to, options.top, options.tied, options.format, options.model, options.optuna, options.register
    )
    state = whole_search(options.folder, "Export from")
    standing = standing_of(state.search["specification"])
    if options.optuna:
        from seedwise.search.export.optuna_study import write_study

        done = "wrote" if write_study(state, standing, options.optuna) else "nothing to do: the same is in"
        console.print(
            f"{done} {options.optuna}; look at it with: optuna-dashboard sqlite:///{options.optuna}", soft_wrap=True
        )
        return DONE
    written = request.write(Export(state, standing, options.folder))
    for path, _ in written:
        again = "" if options.format == "hf" else f"; rerun it with: python run_search.py run {path}"
        console.print(f"wrote {path}{again}", soft_wrap=True)
    if options.model:
        from seedwise.search.export.models import export_models

        folders = export_models(state, written[0][1], options.model, options.replicate, console)
        for folder in folders:
            use = f'use it with transformers: pipeline("text-classification", model="{folder}", truncation=True)'
            if state.search["specification"]["method"] == "dcca":
                use = f"another search can start from it: --set model={folder}"
            console.print(f"wrote {folder}; {use}", soft_wrap=True)
        if options.register:
            from seedwise.search.export.model_registry import register

            for model in register(state, written[0][1], options.replicate, folders, options.register):
                console.print(f'registered {model}; mlflow.transformers.load_model("{model}")', soft_wrap=True)
    return DONE


def rerun(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.export.rerun import differences, read_best, rerun_specification
    from seedwise.search.studies.launch import search as launch

    exported = read_best(options.file)
    specification = rerun_specification(exported, options.replicates, decompose=options.decompose)
    options.folder = options.out or Path("runs") / specification.name
    refuse_other_inputs(exported, options, console)
    state = launch(specification, options.folder, console)
    conclude("", state, options.folder, console)
    compared, changed = differences(exported, state)
    for line in changed[:10]:
        console.print(line)
    console.print(
        f"{len(changed)} metrics of {compared} replicates differ from {options.file}."
        if changed
        else f"All scores of {compared} replicates are those of {options.file}.",
        soft_wrap=True,
    )
    return FAILED if changed else DONE


def refuse_other_inputs(exported: dict, options: argparse.Namespace, console: Console) -> None:
    """Where data or model are not those of an exported configuration, say which; go on only if told to."""
    from seedwise.search.export.rerun import other_inputs
    from seedwise.search.spec.provenance import checksums

    if changed := other_inputs(exported, checksums(exported["specification"])):
        told = f"{options.file}: not what it was made with: {', '.join(changed)}."
        if not options.anyway:
            raise RequestError(f"{told} Bring those files back, or run it on these with --anyway.")
        console.print(told, style="yellow", soft_wrap=True)


def landscape(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.ledger.state import read as read_ledger
    from seedwise.search.studies.landscape_request import exported, landscape_specification
    from seedwise.search.studies.launch import search as launch

    given = {"replicates": options.replicates, "equal": options.equal, "baseline": options.baseline}
    given |= {"labels": False} if options.seeds_only else {}
    chosen = {name: value for name, value in given.items() if value is not None}
    found = exported(options.file)
    specification = landscape_specification(options.file, found, chosen, options.set)
    options.folder = options.out or Path("runs") / specification.name
    if found:
        refuse_other_inputs(found, options, console)
    if options.dry_run:
        return dry_run(specification, [])
    before = read_ledger(options.folder / "ledger.jsonl")
    state = launch(specification, options.folder, console, address=options.address)
    return conclude(before.finished, state, options.folder, console)


def track(options: argparse.Namespace, console: Console) -> int:
    from rich.progress import Progress

    from seedwise.search.ledger.state import read
    from seedwise.search.tracking.follower import mask
    from seedwise.search.tracking.follower import track as write

    if not (search := read(options.folder / "ledger.jsonl").search):
        raise RequestError(f"{options.folder}: there is no search here.")
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("writing to MLflow", total=None)
        trouble = write(options.folder, options.uri, lambda done, total: bar.update(task, completed=done, total=total))
    where = mask(options.uri or search["specification"]["tracking"]["uri"])
    if trouble:
        console.print(f"MLflow at {where} is incomplete: {trouble}. The same command goes on.", soft_wrap=True)
        return FAILED
    console.print(f"{search['name']} is in {where}, complete.", soft_wrap=True)
    return DONE


def ui(options: argparse.Namespace, console: Console) -> int:
    from seedwise.search.ledger.state import read
    from seedwise.search.tracking.follower import address_of
    from seedwise.search.tracking.mlflow_ui import Pages, serve

    search = read(options.folder / "ledger.jsonl").search if options.folder else {}
    if options.folder and not search:
        raise RequestError(f"{options.folder}: there is no search here.")
    pages = Pages(address_of(search["specification"]["tracking"]["uri"] if search else DEFAULT_STORE), options.port)
    links = {"configurations, highest mean first": pages.experiment(search["name"])} if search else {}
    serve(pages, links | {"all searches": pages.server}, console)
    return DONE


if __name__ == "__main__":
    sys.exit(main())
