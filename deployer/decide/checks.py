"""One line of a preflight: what was looked at before anything is paid for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warn", "refuse"]


@dataclass(frozen=True)
class Check:
    """fix: what to do about it, None when it is well."""

    name: str
    verdict: Verdict
    text: str
    fix: str | None = None
