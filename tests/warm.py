"""Ray workers forked from a warm process, which imports torch and transformers once for all workers of a test process.

A fresh worker of a method spends five CPU seconds on imports, and a small search starts up to four workers.
`forked_workers()` makes the next Ray run this file as the program of its workers. Run that way, the file asks the
warm server (the same file, run with --serve) to fork, and the child becomes the worker. The rest of Ray is unchanged.

The server never imports Ray: Ray's core does not survive a fork. Runs compute what they compute in a fresh worker:
tests/search/studies/test_demo.py compares forked workers, and test_demo_apart.py fresh ones, with runs outside Ray.
"""

import atexit
import contextlib
import gc
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

SOCKET = "SEEDWISE_TEST_WORKERS"  # the environment variable that names the server's socket
SETUP_OPTIONS = ("--language", "--serialized-runtime-env-context")  # of Ray's setup_worker.py, whose place we take
LENGTH_BYTES = 8

_server: subprocess.Popen | None = None


@contextlib.contextmanager
def forked_workers() -> Iterator[None]:
    """Ray that is started in this block forks its workers."""
    from ray._private import parameter

    _start_server()
    usual = parameter.RayParams.__init__

    def changed(self, *args, **kwargs):
        usual(self, *args, **kwargs)
        self.setup_worker_path = self.worker_path = __file__

    parameter.RayParams.__init__ = changed
    try:
        yield
    finally:
        parameter.RayParams.__init__ = usual


def _start_server() -> None:
    """Start the server with a socket that listens already: requests wait there while it imports."""
    global _server
    if _server is None or _server.poll() is not None:
        folder = tempfile.mkdtemp(prefix="warm-", dir="/tmp")  # short, as the paths of sockets must be
        os.environ[SOCKET] = f"{folder}/socket"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.environ[SOCKET])
            listener.listen(64)
            line = [sys.executable, __file__, "--serve", str(listener.fileno())]
            _server = subprocess.Popen(
                line, stdin=subprocess.PIPE, pass_fds=[listener.fileno()], start_new_session=True
            )  # it ends when our end of its standard input is closed
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        atexit.register(_server.kill)


def serve(listener: socket.socket) -> None:
    """Fork a worker for every request, until the parent process has ended."""
    _import_what_workers_import()
    gc.freeze()  # or the first collection in a child would copy every page
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are not waited for
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:  # its other end is closed
            return
        client, _ = listener.accept()
        with client:
            head, files, _, _ = socket.recv_fds(client, LENGTH_BYTES, 3)
            content = client.makefile("rb").read(int.from_bytes(head))
            if os.fork() == 0:
                listener.close()
                client.close()
                _become_worker(json.loads(content), files)
        for file in files:
            os.close(file)


def _import_what_workers_import() -> None:
    import pandas  # noqa: F401
    import pyarrow.fs  # noqa: F401
    import scipy.optimize  # noqa: F401
    import sklearn.metrics  # noqa: F401
    import torch  # noqa: F401
    from transformers import AutoModelForMaskedLM, AutoModelForSequenceClassification, modeling_utils  # noqa: F401

    if "ray" in sys.modules:
        raise SystemExit("the warm server imported Ray, whose core does not survive a fork")


def _become_worker(request: dict, files: list[int]) -> NoReturn:
    """Take over the standard files, environment, folder and arguments of the request, and run Ray's own worker."""
    os.setpgid(0, 0)  # raylet ends the process group of a worker
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    requested = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:] = [str(Path(request["worker"]).parent), *requested, *sys.path[1:]]
    sys.argv = [request["worker"], *request["arguments"]]
    os.nice(request["nice"] - os.nice(0))
    runpy.run_path(request["worker"], run_name="__main__")
    sys.exit()


def ask_for_worker(arguments: list[str]) -> None:
    """What raylet runs as a worker: have a worker forked with our standard files, and end."""
    from importlib.util import find_spec

    ray = Path(find_spec("ray").origin).parent
    request = {
        "worker": str(ray / "_private" / "workers" / "default_worker.py"),
        "arguments": [argument for argument in arguments if not argument.startswith(SETUP_OPTIONS)],
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "nice": os.nice(0),
    }
    content = json.dumps(request).encode()
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(os.environ[SOCKET])
        socket.send_fds(server, [len(content).to_bytes(LENGTH_BYTES)], [0, 1, 2])
        server.sendall(content)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(socket.socket(fileno=int(sys.argv[2])))
    else:
        ask_for_worker(sys.argv[2:])  # without the program that setup_worker.py would have run
