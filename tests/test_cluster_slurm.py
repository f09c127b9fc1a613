"""cluster/slurm.sh, run with a fake search to test how it ends, and with Ray and a real search as a whole."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.search.story import TEST_TIMEOUT, wait_for

SCRIPT = ROOT / "cluster" / "slurm.sh"
SLURM = {"SLURM_JOB_ID": "4711", "SLURM_JOB_NUM_NODES": "1", "SLURM_CPUS_PER_TASK": "1"}
# Stand-ins for Slurm: `srun`, here on this machine, and `scontrol requeue`.
STANDINS = {
    "srun": 'while [[ $1 == --* ]]; do shift; done; exec "$@"',
    "scontrol": 'echo "$@" >>scontrol.log',
}
# Stand-ins for Ray and the search, to test signals and exit codes of the script.
FAKES = {
    "hostname": "echo 10.0.0.1 10.0.0.2",
    "ray": """
        [ $1 = symmetric-run ] && [ -z "$RAY_IS_BROKEN" ] || exit 0
        while [ $1 != -- ]; do shift; done
        shift; exec "$@" """,
    "python": """
        [ $1 = -c ] && exec echo token
        trap "exit 130" TERM
        echo "$@" >>search.log
        [ -z "$ENDS" ] || exit $ENDS
        while :; do sleep 0.1; done""",
}


def programs(folder, bodies):
    """A folder of small programs that is first on the path."""
    folder.mkdir()
    for name, body in bodies.items():
        (folder / name).write_text(f"#!/bin/bash\n{body}\n")
        (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def catches(process, number):
    """Whether a process has installed a handler for a signal."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = int(next(line for line in status.splitlines() if line.startswith("SigCgt:")).split()[1], 16)
    return bool(caught >> (number - 1) & 1)


@pytest.mark.parametrize(
    ("variables", "begun", "tell", "code", "called", "queued"),
    [
        ({"ENDS": "0"}, False, None, 0, "search spec.yaml --out out --set seed=1", ""),
        ({"ENDS": "1"}, False, None, 1, "search spec.yaml --out out --set seed=1", ""),
        ({"ENDS": "0"}, True, None, 0, "resume out", ""),
        ({}, False, signal.SIGUSR1, 130, "search spec.yaml --out out --set seed=1", "requeue 4711\n"),
        ({"RAY_IS_BROKEN": "1"}, False, None, 1, None, ""),
    ],
    ids=["done", "failed", "goes on", "time limit", "no Ray"],
)
def test_the_slurm_script_ends_as_its_search_does(tmp_path, variables, begun, tell, code, called, queued):
    path = programs(tmp_path / "bin", STANDINS | FAKES)
    if begun:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "ledger.jsonl").write_text("{}\n")
    notes = tmp_path / "notes"  # the process id of the search, as the script stores it
    notes.mkdir()
    process = subprocess.Popen(
        ["bash", str(SCRIPT), "spec.yaml", "out", "--set", "seed=1"],
        cwd=tmp_path,
        env={**os.environ, **SLURM, "ENDS": "", "RAY_IS_BROKEN": "", **variables, "PATH": path, "TMPDIR": str(notes)},
        stderr=subprocess.PIPE,
        text=True,
    )
    log = tmp_path / "search.log"
    if tell:
        wait_for(lambda: log.exists() and any(file.read_text() for file in notes.iterdir()) and catches(process, tell))
        process.send_signal(tell)
    errors = process.communicate(timeout=TEST_TIMEOUT)[1]
    assert process.returncode == code
    assert (log.read_text() if called else None) == (called and f"-m seedwise {called} --address auto\n")
    assert ((tmp_path / "scontrol.log").read_text() if queued else "") == queued
    assert ("the search did not start" in errors) == (called is None)


SPECIFICATION = """
name: quadratic
method: {trainable: "tests.methods:Quadratic", space: "tests.methods:space"}
sampler: random
budget: {runs: 6}
replicates: {policy: fixed, n: 3, confirm: {top: 0}}
select: {on: metric, metric: value}
tracking: {uri: "off"}
"""
# Apart from other tests: `symmetric-run` refuses to start beside another Ray, ends every Ray it sees, has fixed ports.
ALONE = ["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc", "--net"]
MACHINE = ["unshare", *ALONE, "bash", "-ec"]
NETWORK = """
    ip link set lo up
    ip link add one type veth peer name two
    ip address add 10.4.7.1/24 dev one
    ip link set one up; ip link set two up
    mount -t tmpfs tmpfs /tmp/ray
"""


@pytest.mark.extended
def test_ray_symmetric_run_runs_a_search_in_the_slurm_script(tmp_path):
    Path("/tmp/ray").mkdir(exist_ok=True)
    if not shutil.which("unshare") or subprocess.run([*MACHINE, NETWORK], capture_output=True).returncode:
        pytest.skip("no processes and network of one's own here (unshare): Ray of others would be stopped")
    (tmp_path / "spec.yaml").write_text(SPECIFICATION)
    path = f"{Path(sys.executable).parent}{os.pathsep}{programs(tmp_path / 'bin', STANDINS)}"
    done = subprocess.run(
        [*MACHINE, f"{NETWORK}\nexec bash {SCRIPT} {tmp_path}/spec.yaml {tmp_path}/out"],
        cwd=ROOT,
        env={**os.environ, **SLURM, "PATH": path, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=3 * TEST_TIMEOUT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "On head node. Starting Ray cluster head" in done.stdout
    rows = json.loads((tmp_path / "out" / "leaderboard.json").read_text())
    assert [row["replicates"] for row in rows] == [3, 3]
