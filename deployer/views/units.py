"""Numbers as people read them."""

from __future__ import annotations

_STEPS = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def size(count: float) -> str:
    """Bytes in binary units with three digits: `17.2 GiB`, `512 B`."""
    for unit, scale in _STEPS:
        if abs(count) >= scale:
            value = count / scale
            return f"{value:.1f} {unit}" if abs(value) < 100 else f"{value:.0f} {unit}"
    return f"{count:.0f} B"


def duration(seconds: float) -> str:
    """Seconds as `0.4 s`, `12 s`, `3 min 20 s`, `2 h 05 min`, `3 d 4 h`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def shortened(text: str, width: int) -> str:
    """The text in one line of at most that many characters, cut with an ellipsis."""
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: max(width - 1, 0)] + "…"
