"""Search spaces: an Optuna define-by-run function per method, its canonical form, and the papers' grids."""

if __name__ == "spaces":
    raise ImportError("'spaces' is now 'seedwise.spaces'")

from seedwise.spaces.space import Space, config_id, load

__all__ = ["Space", "config_id", "load"]
