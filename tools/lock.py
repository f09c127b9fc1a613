"""Pins for reproducible tests: `python -m tools.lock constraints.txt` writes what pip resolves for `.[dev]` today."""

import json
import re
import subprocess
import sys
from pathlib import Path

REQUEST = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-"]


def pins(report: dict) -> list[str]:
    """Lines `name==version`, sorted: no addresses, and no local tags such as +cpu, which other machines lack."""
    packages = [entry["metadata"] for entry in report["install"] if not entry.get("is_direct")]
    versions = {re.sub(r"[-_.]+", "-", package["name"]).lower(): package["version"] for package in packages}
    return sorted(f"{name}=={version.partition('+')[0]}" for name, version in versions.items())


def main() -> None:
    done = subprocess.run([*REQUEST, "--editable", ".[dev]"], stdout=subprocess.PIPE, check=True)
    Path(sys.argv[1]).write_text("\n".join(pins(json.loads(done.stdout))) + "\n")


if __name__ == "__main__":
    main()
