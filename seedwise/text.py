"""Numbers, parameters and times as people read them."""

import time


def number(value: float | None) -> str:
    """A score with three decimals; a dash if there is none."""
    return "-" if value is None else f"{value:z.3f}"


def spread(mean: float | None, sd: float | None) -> str:
    """A mean with its standard deviation, which is a dash for a single score; empty if there is no mean."""
    return "" if mean is None else f"{number(mean)} ± {number(sd)}"


def interval(low: float | None, high: float | None) -> str:
    """The ends of an interval; empty if there is none."""
    return "" if low is None else f"{number(low)} .. {number(high)}"


def short(name: str, value: object) -> str:
    """A parameter in few letters: a word stands alone, a number needs its name."""
    if isinstance(value, str) and value != "all":
        return value
    return f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}"


def duration(seconds: float) -> str:
    """Seconds as 3.5 h, 12.0 min or 40.0 s: what a search cost, with one decimal."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def minutes_in_words(minutes: float) -> str:
    """Minutes, roughly, as 40 s, 12 min or 3.5 h."""
    if minutes < 1.5:
        return f"{minutes * 60:.0f} s"
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def ago(moment: float) -> str:
    """The time since a moment of the ledger, by this machine's clock."""
    return f"{minutes_in_words(max(0.0, time.time() - moment) / 60)} ago"
