"""The files of a search folder."""

from pathlib import Path

LEDGER = "ledger.jsonl"  # all other files derive from it
SPECIFICATION = "search.yaml"  # the resolved specification
LEADERBOARD, LEADERBOARD_CSV = "leaderboard.json", "leaderboard.csv"
BEST = "best.yaml"
REPORT = "report.html"
MODELS = "models"  # the trained models of a landscape, one file per training run


def run_id(config_id: str, replicate: int) -> str:
    """The name of a run in file names and in messages between processes."""
    return f"{config_id}-{replicate}"


def pictures_of(folder: Path, config_id: str, replicate: int) -> Path:
    """The file that holds all pictures of a run. It does not exist if the run has no pictures."""
    return folder / "pictures" / f"{run_id(config_id, replicate)}.json"
