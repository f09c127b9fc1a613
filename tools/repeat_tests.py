"""Five runs of all tests of `make test-all`, to find flaky tests: `make test-repeated`.

Once unchanged; twice on busy cores; in random order; with another hash seed. All five run
despite failures; the last lines say which failed.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence

BUSY = [sys.executable, "-c", "while True: pass"]
# Not captured by file, so that Ray's last output is visible when a test process dies.
TESTS = [sys.executable, "-m", "pytest", "--capture=sys"]
EXTENDED = ["-m", "extended", "--numprocesses=1"]  # as in the Makefile


def run(name: str, *options: str, busy: int = 0, **environment: str) -> tuple[str, bool, float]:
    """Run `make test` and what `make test-all` adds, beside `busy` processes that only use the processor.

    The name of the run, whether all tests passed, and the minutes they took.
    """
    print(f"== {name}", flush=True)
    others = [subprocess.Popen(BUSY) for _ in range(busy)]
    began = time.monotonic()
    try:
        commands = [*TESTS, *options], [*TESTS, *EXTENDED, *options]
        codes = [subprocess.run(command, env={**os.environ, **environment}).returncode for command in commands]
    finally:
        for other in others:
            other.kill()
            other.wait()
    return name, not any(codes), (time.monotonic() - began) / 60


def main(options: Sequence[str]) -> int:
    cores = os.cpu_count() or 1
    seed = str(int(time.time()) % 100_000)
    random = ["-p", "no:tests.durations", "-p", "randomly", f"--randomly-seed={seed}"]
    runs = [
        run("as they are", *options),
        run("busy machine, first", *options, busy=cores),
        run("busy machine, second", *options, busy=cores),
        run(f"random order {seed}", *random, *options),
        run(f"hash seed {seed}", *options, PYTHONHASHSEED=seed),
    ]
    for name, passed, minutes in runs:
        print(f"{name}: {'passed' if passed else 'FAILED'} in {minutes:.1f} minutes")
    return int(not all(passed for _, passed, _ in runs))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
