"""Servers that tests start and end, on 127.0.0.1: PostgreSQL, the head of a Ray cluster, a tunnel."""

import base64
import contextlib
import fcntl
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.search.story import TEST_TIMEOUT, wait_for

DEBIAN = Path("/usr/lib/postgresql")  # VERSION/bin, which is on no path
# Above the ports of Ray's workers (10002 to 19999) and of its clients' servers (23000 to 23999), below those that Linux
# gives to outgoing connections (from 32768).
PORTS = range(24_000, 32_000)

_ports: set[int] = set()  # of this test process
_locks = open(Path(tempfile.gettempdir()) / f"seedwise-test-ports-{os.getuid()}", "a")  # noqa: SIM115 (holds the locks)


def own_port() -> int:
    """A port reserved for this test process, also while its server is down.

    A port that is only free now may be taken when the server starts. Each port is a byte of a shared file, which the
    owning process keeps locked until it ends.
    """
    first = os.getpid() % len(PORTS)
    for port in (*PORTS[first:], *PORTS[:first]):
        if port in _ports:
            continue
        with contextlib.suppress(OSError), socket.socket() as probe:
            fcntl.lockf(_locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            _ports.add(port)
            return port
    raise AssertionError("no port is free")


@contextlib.contextmanager
def silent_port() -> Iterator[int]:
    """A reserved port that refuses every connection."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


class _Refuses(BaseHTTPRequestHandler):
    def do_GET(self):
        authorization = self.headers.get("Authorization", "")
        self.server.authorizations.add(authorization)
        who = base64.b64decode(authorization.removeprefix("Basic ")).decode(errors="replace")
        message = f"no entry for {who} ({authorization})"
        answer = json.dumps({"error_code": "PERMISSION_DENIED", "message": message}).encode()
        self.send_response(403)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_GET

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def refusing() -> Iterator[ThreadingHTTPServer]:
    """A server that refuses every request and repeats its authorization in the answer.

    `authorizations` has every authorization that it received.
    """
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refuses) as server:
        server.authorizations = set()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """The address of a new PostgreSQL database, removed afterwards. The test is skipped if PostgreSQL cannot start."""
    places = [*map(str, sorted(DEBIAN.glob("*/bin"), reverse=True)), os.environ["PATH"]]
    if (initdb := shutil.which("initdb", path=os.pathsep.join(places))) is None:
        pytest.skip("no PostgreSQL: install Debian's package postgresql")
    with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as folder, open(f"{folder}/log", "w+") as log:
        who = {}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        how = {"cwd": folder, "stdout": log, "stderr": log, **who}
        data, port = f"{folder}/data", own_port()
        make = [
            initdb,
            "--pgdata",
            data,
            "--username",
            "seedwise",
            "--auth",
            "trust",
            "--no-sync",
            "--encoding",
            "UTF8",
        ]
        if subprocess.run(make, **how).returncode != 0:
            log.seek(0)
            pytest.skip(f"PostgreSQL cannot start: {log.read().strip()}")
        options = ["-h", "127.0.0.1", "-p", str(port), "-k", folder, "-c", "fsync=off"]
        server = subprocess.Popen([Path(initdb).with_name("postgres"), "-D", data, *options], **how)
        try:
            wait_for(lambda: server.poll() is not None or _answers(port))
            assert server.poll() is None, Path(log.name).read_text()
            yield f"postgresql+psycopg://seedwise@127.0.0.1:{port}/postgres"
        finally:
            server.send_signal(signal.SIGINT)  # fast shutdown
            server.wait(TEST_TIMEOUT)


def _answers(port: int) -> bool:
    import psycopg

    with contextlib.suppress(psycopg.OperationalError):
        psycopg.connect(host="127.0.0.1", port=port, user="seedwise", dbname="postgres").close()
        return True
    return False


class Head:
    """The head of a Ray cluster with two CPUs and its dashboard, started from the command line, protected by a token.

    Nothing of this project is on its path.
    """

    def __init__(self, home: Path):
        self.address = f"http://127.0.0.1:{own_port()}"
        self.token = secrets.token_hex(16)
        self._folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # short, as the paths of sockets must be
        programs = Path(sys.executable).parent
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment |= {"HOME": str(home), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", **self.access}
        command = [programs / "ray", "start", "--head", "--block", "--disable-usage-stats", "--num-cpus=2"]
        command += ["--dashboard-host=127.0.0.1", f"--dashboard-port={self.address.rpartition(':')[2]}"]
        command += [f"--{kind}port={own_port()}" for kind in ("", "ray-client-server-", "dashboard-agent-listen-")]
        with open(self._folder / "log", "w") as log:
            self._process = subprocess.Popen(
                [*command, f"--temp-dir={self._folder}"], env=environment, stdout=log, stderr=log
            )

    @property
    def access(self) -> dict[str, str]:
        """The environment variables that a client needs."""
        return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": self.token}

    def wait(self) -> None:
        """Wait until the server answers."""
        wait_for(lambda: self._process.poll() is not None or self._ready())
        assert self._process.poll() is None, (self._folder / "log").read_text()

    def _ready(self) -> bool:
        headers = {"Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(f"{self.address}/api/jobs/", headers=headers)
        with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status == 200
        return False

    def __enter__(self) -> "Head":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()  # it ends its child processes
        self._process.wait(TEST_TIMEOUT)
        shutil.rmtree(self._folder, ignore_errors=True)


class Relay:
    """A tunnel to a port of this machine; `cut` drops its connections, and new connections work at once."""

    def __init__(self, target: int):
        self._target, self._ends = target, []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                ends = [self._listener.accept()[0], socket.create_connection(("127.0.0.1", self._target))]
                self._ends += ends
                for source, sink in (ends, reversed(ends)):
                    threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._ends.clear()

    def close(self) -> None:
        self._listener.close()
        self.cut()
