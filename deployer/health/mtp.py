"""Rung 8: with MTP on, drafts are made and accepted. Warns only."""

from __future__ import annotations

from collections.abc import Callable

from deployer.health.base import Observation
from deployer.health.completion import Completion


class DraftsAccepted:
    """enabled: is MTP on, as decided or as measured? completion: what the completion rung got."""

    name = "mtp"
    deadline_seconds = 0.0
    decides = False

    def __init__(self, enabled: Callable[[], bool], completion: Callable[[], Completion | None]) -> None:
        self._enabled = enabled
        self._completion = completion

    def check(self) -> Observation:
        seen = self._completion()
        drafted = (seen.draft_n if seen else None) or 0
        accepted = (seen.draft_n_accepted if seen else None) or 0
        share = f"{accepted} of {drafted} drafted tokens accepted"
        match self._enabled(), drafted, accepted:
            case False, 0, _:
                return Observation("skipped", "MTP is off")
            case False, _, _:
                return Observation("warned", f"MTP is off, yet the engine drafts: {share}")
            case True, 0, _:
                return Observation("warned", "MTP is on, but the engine made no drafts")
            case True, _, 0:
                return Observation("warned", f"MTP costs time and gains nothing: {share}")
            case _:
                return Observation("passed", f"{share} ({accepted / drafted:.0%})")
