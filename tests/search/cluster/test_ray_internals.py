"""Private interfaces of Ray: a test fails by name if a new Ray version changed one."""

import importlib
import inspect
import os
import re
import signal
import subprocess
import sys
import types
from pathlib import Path

import pytest
import ray
from ray import tune
from ray.tune.schedulers import FIFOScheduler

from seedwise.search.cluster import ray_internals
from seedwise.search.cluster.nodes import ENVIRONMENT
from seedwise.search.cluster.ray_internals import run_tune, worker_of
from seedwise.search.execution.worker_loss import DIED, NODE, NOT_STARTED, OUT_OF_MEMORY, cause_of
from tests.conftest import ROOT
from tests.raylets import raylets
from tests.search.story import TEST_TIMEOUT
from tests.test_rooms import modules

PRIVATE = re.compile(
    r"ray[\w.]*\._[a-z]|from ray[\w.]* import[^\n]*\b_[a-z]|internal_kv|ray\.experimental|ray\.util\.client|_remote=|"
    r"temporary_state|__ray_ready__|RAY_JOB_CONFIG|running low on memory|node (has )?died|NodeDied|creation task|"
    r"ray\.dashboard"
)


def test_no_other_module_uses_private_names_of_ray_or_parses_its_errors():
    private = {name: PRIVATE.findall(path.read_text()) for name, path in modules().items()}
    assert private.pop(ray_internals.__name__)
    assert not {name for name, uses in private.items() if uses}


@pytest.fixture
def key():
    return b"seedwise/test_ray_internals/key"


def kv_get(key):
    assert ray_internals.kv_get(key) is None
    ray_internals.kv_put(key, b"first")
    ray_internals.kv_put(key, b"second", overwrite=False)
    assert ray_internals.kv_get(key) == b"first"
    ray_internals.kv_put(key, b"third")
    assert ray_internals.kv_get(key) == b"third"


def kv_put(key):
    ray_internals.kv_put(key)
    assert ray_internals.kv_get(key) == b""


def kv_keys(key):
    ray_internals.kv_put(key)
    assert ray_internals.kv_keys(key[:-2]) == [key]


def kv_delete(key):
    ray_internals.kv_put(key)
    ray_internals.kv_delete(key)
    assert ray_internals.kv_get(key) is None


def over_client(key):
    assert ray_internals.over_client() is False


def is_job_with_code(key):
    from ray._private.runtime_env import constants

    assert constants.RAY_JOB_CONFIG_JSON_ENV_VAR == ray_internals.JOB_CONFIG


def wait_until_started(key):
    @ray.remote(num_cpus=0)
    class Actor:
        pass

    ray_internals.wait_until_started(Actor.remote())


def loopback(key):
    from ray._private import ray_constants

    assert ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR == ray_internals.CLUSTER_SWITCH
    assert isinstance(ray_constants.ENABLE_RAY_CLUSTER, bool)


def tunes_loop_here(key):
    assert "_remote" in inspect.signature(tune.run).parameters


def tunes_files(key):
    from ray.train._internal import storage

    assert not inspect.signature(storage._get_ray_train_session_dir).parameters
    assert "_get_ray_train_session_dir()" in inspect.getsource(storage.StorageContext)


def uncounted(key):
    from ray.air._internal import usage

    assert list(inspect.signature(usage.tag_callbacks).parameters) == ["callbacks"]
    assert "air_usage.tag_callbacks(callbacks)" in inspect.getsource(tune.run)


USES = [kv_get, kv_put, kv_keys, kv_delete, over_client, is_job_with_code, wait_until_started, loopback]
USES += [tunes_loop_here, tunes_files, uncounted]


@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
def test_private_names_of_ray_still_work(use, key, ray_here):
    try:
        use(key)
    finally:
        ray_internals.kv_delete(key)


@pytest.fixture(scope="module")
def sources():
    folder = Path(ray.__file__).parent
    return "".join(
        path.read_text()
        for part in ("tune", "train", "air", "dashboard/modules", "_private")
        for path in (folder / part).rglob("*.py")
    )


@pytest.mark.parametrize("variable", [*ENVIRONMENT, "RAY_JOB_STOP_WAIT_TIME_S", "RAY_API_SERVER_ADDRESS"])
def test_ray_reads_each_variable(variable, sources):
    assert f'"{variable}"' in sources


@pytest.mark.parametrize("name", ray_internals.JOB_LOGGERS)
def test_the_job_client_logs_under_this_name(name):
    assert importlib.import_module(name).logger.name == name


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Traceback (most recent call last):\n  File x\nConnectionError: no GCS.\n", "ConnectionError: no GCS"),
        ("ray client connection timeout\nhints", "ray client connection timeout"),
        ("", "OSError"),
    ],
)
def test_the_reason_of_a_failed_connection_is_one_line(text, reason):
    assert ray_internals.reason_of(OSError(text)) == reason


class Dies(tune.Trainable):
    """Ends its worker in the way given by its configuration."""

    def setup(self, config):
        if config["kind"] == "import":
            ray.get(config["missing"])
        if config["kind"] == "setup":
            raise ValueError("before the first step")

    def step(self):
        if self.config["kind"] == "step":
            raise ValueError("what the worker cannot catch")
        os.kill(os.getpid(), signal.SIGKILL)


class Causes(FIFOScheduler):
    def __init__(self, causes):
        super().__init__()
        self.causes = causes

    def on_trial_error(self, tune_controller, trial):
        self.causes[trial.config["kind"]] = cause_of(Path(trial.error_file)).reason


class Workers(tune.Callback):
    def __init__(self, causes):
        self.causes = causes

    def on_trial_start(self, iteration, trials, trial, **info):
        self.causes["worker", trial.config["kind"]] = worker_of(trial)


@pytest.fixture(scope="module")
def causes(ray_here, tmp_path_factory):
    """The reported cause of each kind of lost worker, and the worker that Tune recorded."""
    causes = {}
    module = sys.modules["only_here"] = types.ModuleType("only_here")
    exec("class Missing: pass", vars(module))
    config = {"kind": tune.grid_search(["killed", "import", "setup", "step"]), "missing": ray.put(module.Missing)}
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in ENVIRONMENT.items():
            patch.setenv(variable, value)
        run_tune(
            Dies,
            str(tmp_path_factory.mktemp("tune")),
            config=config,
            scheduler=Causes(causes),
            callbacks=[Workers(causes)],
            verbose=0,
            raise_on_failed_trial=False,
        )
    del sys.modules["only_here"]
    return causes


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("killed", DIED),
        ("import", f"{NOT_STARTED}: ModuleNotFoundError: No module named 'only_here'"),
        ("setup", f"{NOT_STARTED}: ValueError: before the first step"),
        ("step", "its worker failed: ValueError: what the worker cannot catch"),
    ],
)
def test_ray_reports_why_a_worker_died(kind, cause, causes):
    assert causes[kind] == cause


def test_a_tune_trial_knows_its_worker(causes):
    assert isinstance(causes["worker", "killed"], ray.actor.ActorHandle)


LOST = """
import sys, time
import ray

ray.init(sys.argv[1], log_to_driver=False, logging_level="ERROR")

@ray.remote(num_cpus=1)
class Worker:
    def node(self):
        return ray.get_runtime_context().get_node_id()

    def work(self):
        self.held = bytearray(1 << 20)
        time.sleep(1000)

worker = Worker.remote()
try:
    node = ray.get(worker.node.remote())  # where memory is short, this may fail already
    print(node, flush=True)
    work = worker.work.remote()
    if input() == "node":
        while node in [known["NodeID"] for known in ray.nodes() if known["Alive"]]:
            time.sleep(0.1)
        work = worker.node.remote()  # before, the death of the process may be all that is known
    ray.get(work, timeout=300)
except ray.exceptions.RayError as error:
    print(error)
"""


def cause_of_a_lost_worker(cluster, folder, kill_node=None):
    """The reported cause when a worker is lost with its node, or alone."""
    process = subprocess.Popen(
        [sys.executable, "-c", LOST, cluster.address()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    first = process.stdout.readline()  # the worker's node, or an error
    if kill_node:
        kill_node(first.strip())
    rest, _ = process.communicate("node\n" if kill_node else "\n", timeout=TEST_TIMEOUT)
    (folder / "error.txt").write_text(first + rest)
    return cause_of(folder / "error.txt").reason


@pytest.mark.extended
def test_ray_reports_that_a_node_died(tmp_path):
    with raylets(1) as cluster:
        assert cause_of_a_lost_worker(cluster, tmp_path, cluster.kill_node) == NODE


@pytest.mark.extended
def test_ray_reports_running_out_of_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_memory_usage_threshold", "0.0")
    monkeypatch.setenv("RAY_memory_monitor_refresh_ms", "100")
    with raylets(1) as cluster:
        assert cause_of_a_lost_worker(cluster, tmp_path) == OUT_OF_MEMORY
