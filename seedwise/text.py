"""Formats numbers, parameters and times for people."""

import time

HOUR, MINUTE = 3600.0, 60.0  # seconds


def number(value: float | None) -> str:
    """A score with three decimals; a dash if there is none."""
    return "-" if value is None else f"{value:z.3f}"


def spread(mean: float | None, sd: float | None) -> str:
    """A mean with its standard deviation, which is a dash for a single score; empty if there is no mean."""
    return "" if mean is None else f"{number(mean)} ± {number(sd)}"


def interval(low: float | None, high: float | None) -> str:
    """An interval as `low .. high`; empty if there is none."""
    return "" if low is None else f"{number(low)} .. {number(high)}"


def short(name: str, value: object) -> str:
    """A parameter in few characters: a word without the parameter's name, a number as `name=number`."""
    if isinstance(value, str) and value != "all":
        return value
    return f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}"


def duration(seconds: float, *, rough: bool = False) -> str:
    """Seconds as 3.5 h, 12.0 min or 40.0 s; `rough`: as 3.5 h, 12 min or 40 s."""
    digits = 0 if rough else 1
    for unit, size, decimals in (("h", HOUR, 1), ("min", MINUTE, digits)):
        if seconds >= 2 * size:
            return f"{seconds / size:.{decimals}f} {unit}"
    return f"{seconds:.{digits}f} s"


def ago(moment: float) -> str:
    """The time since `moment`, a time in the ledger, by this machine's clock."""
    return f"{duration(max(0.0, time.time() - moment), rough=True)} ago"
