"""Rung 9: the speed is what this hardware should give. Warns only."""

from __future__ import annotations

from collections.abc import Callable

from deployer.health.base import Observation
from deployer.health.completion import Completion


class Speed:
    """expected: (low, high) tokens/s predicted for this hardware and model, None when nothing is predicted.

    One short completion is a rough measure, so only a speed below the band warns.
    """

    name = "speed"
    deadline_seconds = 0.0
    decides = False

    def __init__(
        self, completion: Callable[[], Completion | None], expected: tuple[float, float] | None = None
    ) -> None:
        self._completion = completion
        self._expected = expected

    def check(self) -> Observation:
        seen = self._completion()
        speed = seen.predicted_per_second if seen else None
        if speed is None:
            return Observation("warned", "the engine did not tell its speed")
        if self._expected is None:
            return Observation("passed", f"{speed:.1f} tokens/s; no prediction for this hardware yet")
        low, high = self._expected
        text = f"{speed:.1f} tokens/s, predicted {low:.0f} to {high:.0f}"
        return Observation("passed" if speed >= low else "warned", text)
