"""Small value languages inside a spec: durations."""

from __future__ import annotations

import re

_UNITS = {"m": 60, "h": 3600, "d": 86400}


def parse_duration_seconds(text: str) -> int:
    """`90m`, `8h`, `2d` in seconds. Raises ValueError on anything else."""
    match = re.fullmatch(r"([1-9][0-9]{0,5})([mhd])", text)
    if match is None:
        raise ValueError("a duration is a whole number and a unit: 90m, 8h, 2d")
    return int(match.group(1)) * _UNITS[match.group(2)]
