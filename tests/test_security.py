"""Network access, code execution, file paths and passwords of a search, with real files and processes."""

import ast
import base64
import importlib
import io
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
import ray  # noqa: F401 (it brings psutil along)
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from seedwise import yaml12
from seedwise.credentials import SHORTEST_SECRET, check_address, has_password, mask
from seedwise.errors import RequestError
from seedwise.files import check_file_name
from seedwise.search.commands.main import main
from seedwise.search.commands.vectors import by_language
from seedwise.search.export.rerun import read_best
from seedwise.search.ledger import file
from seedwise.search.spec.load import from_dict, read
from seedwise.search.spec.schema import Specification
from seedwise.search.tracking import follower
from seedwise.trainables.inputs.cache import cached
from seedwise.trainables.inputs.lexicons import read_lexicon
from seedwise.trainables.inputs.subwords import MAGIC, read_fasttext
from seedwise.trainables.inputs.synonyms import read_synonyms
from seedwise.trainables.inputs.vectors import read_vectors
from seedwise.trainables.pictures import checked
from seedwise.trainables.request import Task
from seedwise.trainables.tasks.sources import Classification
from tests.conftest import ROOT
from tests.search.story import wait_for
from tests.servers import own_port, refusing

psutil = importlib.import_module("psutil")
SPECIFICATION = {
    "name": "quadratic",
    "method": {"trainable": "tests.methods:Quadratic", "space": "tests.methods:space"},
    "sampler": "random",
    "budget": {"runs": 4},
    "replicates": {"policy": "fixed", "n": 2, "confirm": {"top": 0}},
    "select": {"on": "metric", "metric": "value"},
    "tracking": {"uri": "off"},
}


# Servers listen on this machine only.


def family(pid):
    """A process and all its descendants."""
    try:
        top = psutil.Process(pid)
        return [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def ports_and_commands(pid):
    """(process, address) of every port that a process or its descendants listen to, and their command lines."""
    listening, commands = set(), {}
    for process in family(pid):
        try:
            commands[process.pid] = process.cmdline()
            listening |= {
                (process.name(), at.laddr.ip) for at in process.net_connections("inet") if at.status == "LISTEN"
            }
        except psutil.Error:  # it has just ended
            continue
    return listening, commands


def only_here(listening):
    return {address for _, address in listening} <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


def command(*arguments):
    return [sys.executable, str(ROOT / "run_search.py"), *map(str, arguments)]


# A password with characters that a URL must encode, in every form in which it could leak.
PASSWORD = "Sesam öffne@dich"
SECRETS = [PASSWORD.encode(), quote(PASSWORD, safe="").encode(), b"Sesam", base64.b64encode(b"me:" + PASSWORD.encode())]


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A search whose tracking server refuses its password: its folder, open ports, command lines, credentials sent.

    Its last run waits for the marker until every kind of process listens. Its follower, which would retry for a minute,
    is killed after the search has ended and the server has refused.
    """
    folder = tmp_path_factory.mktemp("searched")
    marker, listening, commands = folder / "marker", set(), {}
    waiting = {
        "method": {"trainable": "tests.methods:Patient", "space": "tests.methods:space"},
        "space": {"marker": str(marker)},
        "budget": {"runs": 3},
        "replicates": {"policy": "fixed", "n": 3, "confirm": {"top": 0}},
    }
    (folder / "spec.yaml").write_text(yaml12.dump(SPECIFICATION | waiting))
    lines, log = (folder / "runs" / "quadratic" / name for name in ("ledger.jsonl", "tracking.log"))

    def over() -> bool:
        """Inspect all processes once; return whether the search has ended."""
        ports, running = ports_and_commands(process.pid)
        listening.update(ports)
        commands.update(running)
        if all(any(name.startswith(kind) for name, _ in listening) for kind in ("gcs_server", "raylet", "ray::")):
            marker.touch()  # "ray::" are workers and agents
        if marker.exists() and '"event": "end"' in lines.read_text() and "no entry for" in log.read_text():
            for member in family(process.pid):
                if "seedwise.search.tracking.follower" in commands.get(member.pid, []):
                    member.kill()
        return process.poll() is not None

    with refusing() as server, open(folder / "printed", "w") as printed:
        uri = f"http://me:{quote(PASSWORD, safe='')}@127.0.0.1:{server.server_port}"
        process = subprocess.Popen(
            command("search", "spec.yaml", "--set", f"tracking.uri={uri}"),
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=printed,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_for(over)
        finally:
            process.kill()
    assert process.wait() == 0, (folder / "printed").read_text()
    commands.pop(process.pid)  # command lines are readable by every user of the machine
    return folder, listening, commands, server.authorizations


@pytest.mark.extended
def test_a_local_search_listens_on_this_machine_only(searched):
    _, listening, _, _ = searched
    names = {name for name, _ in listening}
    assert {"gcs_server", "raylet"} <= names
    assert any(name.startswith("ray::") for name in names)  # workers and agents
    assert only_here(listening), listening


@pytest.mark.extended
def test_the_server_of_mlflows_pages_listens_on_this_machine_only_and_shows_no_password(tmp_path):
    port, printed = own_port(), tmp_path / "printed"
    uri = f"sqlite:///file:{tmp_path}/mlflow.db?uri=true&password=Sesam"
    code = f"from seedwise.search.tracking.mlflow_ui import *; serve(Pages({uri!r}, {port}), {{}}, Console())"
    serving = tmp_path / "serving.py"
    serving.write_text(code)
    with open(printed, "w") as output:
        process = subprocess.Popen(
            [sys.executable, serving],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_for(lambda: process.poll() is not None or ports_and_commands(process.pid)[0])
        listening, commands = ports_and_commands(process.pid)
    finally:
        process.terminate()
        process.wait()
    assert listening, printed.read_text()
    assert only_here(listening), listening
    assert not any("Sesam" in word for words in commands.values() for word in words)
    assert "Sesam" not in printed.read_text()


# Passwords.


def holding(*places):
    """The files at and below these paths that hold a secret in any form."""
    files = [file for path in places for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
    assert files
    return [file for file in files if any(secret in file.read_bytes() for secret in SECRETS)]


@pytest.mark.extended
def test_a_password_is_used_and_nobody_keeps_it(searched, monkeypatch, capsys):
    folder, _, commands, credentials = searched
    assert credentials == {f"Basic {SECRETS[-1].decode()}"}
    assert "no entry for" in (folder / "runs" / "quadratic" / "tracking.log").read_text()
    session = next(
        word.split("=")[1] for words in commands.values() for word in words if word.startswith("--session-dir=")
    )
    assert not holding(folder, Path(session) / "logs")
    assert not [words for words in commands.values() if any(s in " ".join(words).encode() for s in SECRETS)]
    monkeypatch.chdir(folder)
    assert file.read(Path("runs/quadratic/ledger.jsonl")).search["command"].count("***@127.0.0.1") == 1
    shown = ["runs/quadratic"]
    uri = f"tracking.uri=postgresql://me:{quote(PASSWORD, safe='')}@127.0.0.1:9/db?sslpassword=Sesam"
    for arguments in (
        ["status", *shown],
        ["report", *shown],
        ["compare", *shown],
        ["export", *shown],
        ["search", "spec.yaml", "--dry-run", "--set", uri],
    ):
        assert main(arguments) == 0
    printed = capsys.readouterr()
    assert "postgresql://***@127.0.0.1:9/db?sslpassword=***" in printed.out
    assert not any(secret in (printed.out + printed.err).encode() for secret in SECRETS)
    assert not holding(folder)


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SCHEMES = st.sampled_from(["http", "https", "postgresql", "mysql+pymysql", "mssql+pyodbc", "sftp", "s3"])


@given(SCHEMES, WORDS, WORDS, st.from_regex(r"[a-z0-9.]{1,12}(:[0-9]{1,4})?", fullmatch=True), WORDS, st.booleans())
def test_an_address_is_shown_without_its_password_or_refused_without_it(scheme, user, password, host, more, encoded):
    written = quote(password, safe="") if encoded else password
    address = f"{scheme}://{user.replace(':', '')}:{written}@{host}/{more.replace('@', '')}"
    rest = address.replace(f":{written}@", "")
    assume(len(password) >= SHORTEST_SECRET and password not in rest and written not in rest)
    texts = [address, f"<{address}>", f"no answer from {address}, trying again", json.dumps({"uri": address})]
    assert has_password(address)
    try:
        check_address("tracking.uri", address)
    except RequestError as error:
        texts = [str(error)]
    else:
        assert mask(address).startswith(f"{scheme}://***@{host}/")
        assert mask(mask(address)) == mask(address)
        basic = base64.b64encode(f"{user.replace(':', '')}:{password}".encode()).decode()
        texts = [mask(text) for text in texts]
        texts += [mask(f"denied: {password} {written}, {basic}", address)] if encoded else []
        assert not any(basic in text for text in texts)
    assert not any(password in text or written in text for text in texts)


@pytest.mark.parametrize(
    "address",
    [
        "sqlite:////home/me@work/my runs/mlflow.db",
        "s3://bucket/team@work/x",
        "wasbs://container@account.blob.core.windows.net/x",
        "sftp://me@host/files",
        "postgresql://me@host/db",
        "http://host:5000/path?page=2",
    ],
)
def test_an_address_without_a_password_stays_as_it_is(address):
    check_address("tracking.uri", address)
    assert not has_password(address)
    assert mask(f"at {address} now", address) == f"at {address} now"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql:///db?host=/run&password=Sesam&x=1", "postgresql:///db?host=/run&password=***&x=1"),
        ("mysql://host/db?user=me&passwd=Sesam", "mysql://host/db?user=me&passwd=***"),
        ("mssql+pyodbc:///?odbc_connect=UID%3Dme%3BPWD%3DSesam", "mssql+pyodbc:///?odbc_connect=UID%3Dme%3BPWD%3D***"),
        ("https://a.blob.core.windows.net/c?sv=1&sig=Sesam", "https://a.blob.core.windows.net/c?sv=1&sig=***"),
        ("https://Sesam@host/x", "https://***@host/x"),
    ],
)
def test_passwords_in_other_places_of_an_address_are_left_out_too(address, shown):
    assert mask(address) == shown
    assert mask("what is Sesam?", address) == "what is ***?"
    assert mask(shown) == shown


def test_what_libraries_print_in_the_follower_goes_through_the_same_filter(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://me:Sesam%40@host/db")
    file = io.BytesIO()
    stream = follower._Masked(file, encoding="utf-8", line_buffering=True)
    print("could not connect with Sesam@, see postgresql://me:Sesam%40@host/db", file=stream)
    assert file.getvalue() == b"could not connect with ***, see postgresql://***@host/db\n"


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        ("tracking.uri=http://me:Sesam 'x@host", "tracking.uri: its password has a blank, a quote"),
        ("tracking.uri=postgresql://me:Ses@Sesam@host/db", "tracking.uri: its password has a blank, a quote"),
        ("tracking.artifacts=sftp://me:Sesam'x@host/files", "tracking.artifacts: *** is wrong: it has a password"),
        ("checkpoints.path=s3://me:Sesam@bucket", "checkpoints.path: *** is wrong: it has a password"),
        ("model=https://me:Sesam@host/model", "model: *** is wrong: it has a password"),
        ("trackin.uri=http://me:Sesam@host", "trackin: there is no such key"),
        ("budget.runs.x=http://me:Sesam@host", "--set budget.runs.x=***: runs is 4 there"),
        ("tracking.uri={http://me:Sesam@host", "--set tracking.uri=***: the value is not YAML"),
        ("http://me:Sesam@host", "--set http***: there is no value. Write key=value"),
    ],
)
def test_a_password_that_cannot_be_kept_back_is_refused_in_a_line_without_it(tmp_path, capsys, override, problem):
    (tmp_path / "spec.yaml").write_text(yaml12.dump(SPECIFICATION))
    assert main(["search", str(tmp_path / "spec.yaml"), "--dry-run", "--set", override]) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert "Sesam" not in error
    assert error.count("\n") == 1


# Code: nothing is executed from a file.


class Payload:
    """Makes a folder when it is unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


@pytest.fixture
def marker(tmp_path):
    """The file that any of the payloads below would create if it ran."""
    path = tmp_path / "it ran"
    yield path
    assert not path.exists()


def test_the_payload_works_where_it_is_unpickled(tmp_path):
    pickle.loads(pickle.dumps(Payload(tmp_path / "it ran")))
    assert (tmp_path / "it ran").is_dir()


READERS = {
    "vectors.vec": lambda path: read_vectors(path, "inputs.vectors.aa", rows=10),
    "vectors.bin": lambda path: read_vectors(path, "inputs.vectors.aa", rows=10),
    "lexicon.txt": lambda path: read_lexicon(path, "inputs.lexicons.aa"),
    "synonyms.json": lambda path: read_synonyms(path, "inputs.synonyms"),
    "spec.yaml": lambda path: read(str(path)),
    "best.yaml": read_best,
    "best.json": read_best,
    "ledger.jsonl": file.read,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("protocol", [0, 4])
def test_a_pickle_in_the_place_of_any_input_is_one_line(tmp_path, marker, name, protocol):
    (tmp_path / name).write_bytes(pickle.dumps(Payload(marker), protocol) + b"\n")
    with pytest.raises(RequestError) as refused:
        READERS[name](tmp_path / name)
    assert "\n" not in str(refused.value)


def test_a_fasttext_model_is_read_without_unpickling(tmp_path, marker, monkeypatch):
    monkeypatch.setenv("SEEDWISE_CACHE", str(tmp_path / "cache"))
    for body in (pickle.dumps(Payload(marker)), b""):
        (tmp_path / "fr.bin").write_bytes(MAGIC + body)
        with pytest.raises(RequestError, match="Is it a whole fastText model"):
            read_fasttext(tmp_path / "fr.bin", "inputs.subwords.fr")


@pytest.mark.parametrize("name", ["spec.yaml", "best.yaml"])
@pytest.mark.parametrize("tag", ["python/object/apply:os.mkdir", "python/object/new:os.mkdir"])
def test_yaml_makes_no_objects(tmp_path, marker, name, tag):
    (tmp_path / name).write_text(f"name: !!{tag} ['{marker}']\n")
    with pytest.raises(RequestError, match="could not determine a constructor"):
        READERS[name](tmp_path / name)


def test_an_array_of_objects_in_the_cache_is_made_again(tmp_path, marker, monkeypatch):
    monkeypatch.setenv("SEEDWISE_CACHE", str(tmp_path / "cache"))
    cached("kind", {"a": 1}, lambda: {"table": np.arange(3)})
    (file,) = (tmp_path / "cache").rglob("table.npy")
    for save in (np.save, np.savez):
        with open(file, "wb") as broken:
            save(broken, np.array([Payload(marker)], dtype=object), allow_pickle=True)
        table = cached("kind", {"a": 1}, lambda: {"table": np.arange(3)})["table"]
        np.testing.assert_array_equal(table, [0, 1, 2])


def test_a_data_set_brings_no_code(tmp_path, marker):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "README.md").write_text("---\nconfigs:\n- config_name: aa\n  data_files: rows.pkl\n---\n")
    (folder / "rows.pkl").write_bytes(pickle.dumps(Payload(marker)))
    (folder / "data.py").write_text(f"import os\nos.mkdir({str(marker)!r})\n")
    task = {"name": "text", "data": str(folder), "source": "aa", "targets": ["bb"]}
    with pytest.raises(RequestError, match=r"task\.data") as refused:
        Classification(Task(**task)).split("aa", "train")
    assert "\n" not in str(refused.value)


@pytest.fixture
def model(tmp_path):
    """A folder with a complete encoder, whose config can be changed."""
    from seedwise.trainables.world import FILES

    folder = tmp_path / "model"
    shutil.copytree(FILES / "source-encoder", folder)

    def change(**more):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | more))
        return folder

    return change


def code(folder, marker):
    """Code as folders of the hub may contain it, and the config keys that name it."""
    text = f"import os\nos.mkdir({str(marker)!r})\nfrom transformers import BertConfig as Config, BertModel as Model\n"
    (folder / "own.py").write_text(text)
    return {"auto_map": {"AutoConfig": "own.Config", "AutoModel": "own.Model", "AutoTokenizer": ["own.Config", None]}}


def test_the_code_of_a_model_folder_does_not_run_even_if_a_person_says_yes(model, marker, monkeypatch):
    from seedwise.trainables.training.encoder import load_encoder

    folder = model(**code(model(), marker), model_type="own")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 9))
    with pytest.raises(RequestError, match="custom code") as refused:
        load_encoder(str(folder))
    assert "\n" not in str(refused.value)


def test_a_known_kind_of_encoder_is_loaded_without_the_code_that_its_folder_brings(model, marker):
    from seedwise.trainables.training.encoder import load_encoder

    plain, _ = load_encoder(str(model()))
    folder = model(**code(model(), marker), attn_implementation="someone/kernel")
    loaded, _ = load_encoder(str(folder))
    assert loaded.config == plain.config | {"_name_or_path": loaded.config.get("_name_or_path")}
    assert loaded.weights.keys() == plain.weights.keys()


def test_weights_in_torchs_format_are_read_and_a_pickle_among_them_is_one_line(model, marker):
    import torch
    from safetensors.torch import load_file

    from seedwise.trainables.training.encoder import load_encoder

    folder = model()
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    loaded, _ = load_encoder(str(folder))
    name, table = max(loaded.weights.items(), key=lambda item: item[1].size)
    np.testing.assert_array_equal(table, next(array for key, array in weights.items() if key.endswith(name)))
    torch.save(weights | {"more": Payload(marker)}, folder / "pytorch_model.bin")
    with pytest.raises(RequestError, match="a pickle of more than tensors") as refused:
        load_encoder(str(folder))
    assert "\n" not in str(refused.value)


def test_a_saved_state_is_read_without_unpickling(tmp_path, marker):
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    from seedwise.trainables.training.optimiser import Trainer
    from seedwise.trainables.training.options import TrainingOptions

    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    made = BertForSequenceClassification(BertConfig(vocab_size=8, **sizes))
    trainer = Trainer(made, TrainingOptions(), 1, torch.device("cpu"))
    trainer.save(tmp_path)
    trainer.load(tmp_path)
    torch.save({"optimiser": Payload(marker)}, tmp_path / "optimiser.pt")
    with pytest.raises(pickle.UnpicklingError, match="Weights only"):
        trainer.load(tmp_path)


def called(node):
    """The name of the called function as it is written, such as `torch.load`."""
    return ast.unparse(node.func)


@pytest.mark.parametrize("folder", ["seedwise", "search", "spaces", "trainables"])
def test_nothing_in_the_code_unpickles_or_evaluates(folder):
    """The tests above cover known readers; this test covers new ones."""
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            where = f"{path}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}, where
            if not isinstance(node, ast.Call):
                continue
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            assert called(node) not in ("eval", "exec", "os.system", "pd.read_pickle"), where
            assert given.get("trust_remote_code", "False") == "False", where
            assert given.get("shell", "False") == "False", where
            if called(node) == "torch.load":
                assert given.get("weights_only") == "True", where
            if called(node) in ("np.load", "numpy.load"):
                assert given.get("allow_pickle") == "False", where
            if called(node) == "yaml.load":
                assert given == {"Loader": "_Loader"}, where
                assert issubclass(yaml12._Loader, importlib.import_module("yaml").SafeLoader)


# Names in files cannot lead out of the folder that is written to.

NASTY = [
    "..",
    ".",
    "../x",
    "../../x",
    "/etc",
    "a/b",
    "a/../..",
    "a\\b",
    "",
    "\0",
    "a\0",
    "~",
    "a\n",
    "\n",
    "a ",
    "x" * 300,
]
NAMES = st.sampled_from(NASTY) | st.text(max_size=80) | st.text("./\\ax-_~", max_size=8)


def accepted(check, name):
    """Whether a check accepts a name; a refusal must be one line."""
    try:
        check(name)
    except ValidationError:  # the specification reader turns this into one line
        return False
    except (RequestError, ValueError) as error:
        return "\n" in str(error)
    return True


CHECKS = {
    "the name of a search": lambda name: Specification.model_validate({**SPECIFICATION, "name": name}),
    "a target language": lambda name: Task(name="text", data="x", source="aa", targets=[name]),
    "a pivot language": lambda name: Task(name="text", data="x", source="aa", targets=["bb"], pivots=[name]),
    "the source language": lambda name: Task(name="text", data="x", source=name, targets=["bb"]),
    "an id of a ledger": lambda name: check_file_name("line 1", name),
    "a language of vectors": lambda name: by_language([f"{name}=file"]),
    "a picture": lambda name: checked(
        [
            {
                "name": name,
                "title": "",
                "text": "",
                "columns": 1,
                "panels": [{"title": "", "x": "", "y": "", "series": []}],
            }
        ]
    ),
}


@pytest.mark.parametrize("kind", CHECKS)
@given(name=NAMES)
def test_a_name_is_one_file_of_its_folder_or_refused(kind, name):
    if accepted(CHECKS[kind], name):
        path = os.path.join("/folder", name)
        assert os.path.dirname(os.path.normpath(path)) == "/folder"
        assert len(f"{name}-decompose.yaml".encode()) < 256
        assert name.isprintable()


@pytest.mark.parametrize("kind", CHECKS)
@pytest.mark.parametrize("name", ["fra_Latn", "zh-CN", "a.b", "x2", "0123456789"])
def test_ordinary_names_pass(kind, name):
    assert accepted(CHECKS[kind], name) or (kind == "a picture" and "." in name)


@pytest.mark.parametrize("key", ["name", "task.targets", "task.source"])
def test_a_path_as_a_name_is_a_wrong_request_and_writes_nothing(tmp_path, monkeypatch, capsys, key):
    monkeypatch.chdir(tmp_path)
    value = "[../../x]" if key == "task.targets" else "../../x"
    assert main(["search", "demo", "--set", f"{key}={value}"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"seedwise: {key}")
    assert "'../../x' is wrong" in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("event", "key", "value"),
    [
        ("search", "search_id", "../../x"),
        ("ask", "config_id", "../../x"),
        ("start", "replicate", "../../x"),
        ("start", "replicate", True),
        ("result", "config_id", "a/b"),
    ],
)
def test_an_edited_ledger_cannot_name_files_elsewhere(tmp_path, event, key, value):
    run = {"config_id": "a", "replicate": 0}
    events = {
        "search": {"name": "x", "search_id": "s", "specification": SPECIFICATION},
        "ask": {"config_id": "a", "params": {}, "ask": 0},
        "start": {**run, "phase": "search"},
        "result": {**run, "phase": "search", "status": "done", "metrics": {}, "seconds": 1.0},
    }
    path = tmp_path / "ledger.jsonl"
    path.write_text("".join(json.dumps({"event": kind, **fields}) + "\n" for kind, fields in events.items()))
    assert file.read(path).configurations["a"].runs[0].finished
    events[event][key] = value
    path.write_text("".join(json.dumps({"event": kind, **fields}) + "\n" for kind, fields in events.items()))
    with pytest.raises(RequestError) as refused:
        file.read(path)
    assert re.search(rf"line {list(events).index(event) + 1}\b", str(refused.value))
    assert "\n" not in str(refused.value)


def test_an_exported_configuration_cannot_name_another_folder(tmp_path):
    exported = {"name": "../../x", "config_id": "a", "params": {"x": 0.5}, "checksums": {}}
    exported |= {"specification": SPECIFICATION, "replicates": [{"replicate": 0, "metrics": {}}]}
    (tmp_path / "best.yaml").write_text(yaml12.dump(exported))
    from seedwise.search.export.rerun import rerun_specification

    with pytest.raises(RequestError, match=r"name: '../../x-rerun' is wrong"):
        rerun_specification(read_best(tmp_path / "best.yaml"), None)
    assert from_dict({**SPECIFICATION, "name": "x-rerun"}).name == "x-rerun"
