"""What every test needs: no hub, one thread, and the repository on the path of every process that a test starts."""

import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")  # tiny tensors: a second thread costs more than it computes

ROOT = Path(__file__).resolve().parent.parent
