"""Runs by itself on the head of a cluster: prints a search folder as one line, for its log is what can be read there.

Its text is handed to `python -c` as it stands, so it uses the standard library alone: the head need not have this code.
"""

import base64
import contextlib
import hashlib
import io
import sys
import tarfile
from pathlib import Path

MARK = "seedwise-archive"
NOTHING = 4  # exit code: there is no search in this folder
LEFT_OUT = ("checkpoints", "models")  # states of runs, models of a landscape: large, and of use where it goes on


def main(folder: Path) -> int:
    """Print the mark, the SHA-256 of the archive, and the archive in base64; the exit code."""
    if not (folder / "ledger.jsonl").is_file():
        return NOTHING
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for top in sorted(folder.iterdir()):
            for path in [top, *sorted(top.rglob("*"))] if top.name not in LEFT_OUT else ():
                with contextlib.suppress(FileNotFoundError):  # it was being written, and has its name by now
                    if not path.is_symlink():
                        archive.add(path, arcname=str(path.relative_to(folder)), recursive=False)
    whole = packed.getvalue()
    print(MARK, hashlib.sha256(whole).hexdigest(), base64.b64encode(whole).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
