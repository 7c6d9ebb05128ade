"""What the agent says of the end of its instance: nobody asks anything, or AWS takes it back."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from deployer.health.console import AgentLine


def idle_end(lines: Iterable[AgentLine], kept_until: float) -> float | None:
    """When the instance ends itself unless somebody asks something, seconds since the epoch; None while it is in use.

    lines: the last of each phase. kept_until: an end that `deployer extend` moved after the agent had told its own.
    """
    ends = [_end(line) for line in lines if (line.phase, line.state) == ("idle", "progress")]
    return max(ends[-1], kept_until) if ends and ends[-1] is not None else None


def taken_back(line: AgentLine) -> str | None:
    """In words, when AWS takes the instance back; None when the line says nothing of it."""
    if line.phase != "interruption" or line.state not in ("start", "done"):
        return None
    end = _end(line)
    when = f", ends at {datetime.fromtimestamp(end, UTC):%Y-%m-%d %H:%M:%S} UTC" if end is not None else ""
    served = "; nobody is served any more" if line.state == "done" else "; requests in flight are served to their end"
    return f"interrupted by AWS, which takes the spot instance back{when}{served}"


def _end(line: AgentLine) -> float | None:
    end = line.detail.get("ends_at")
    return float(end) if isinstance(end, int | float) else None
