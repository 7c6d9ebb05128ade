"""What the agent says of the time since the last request."""

from __future__ import annotations

from collections.abc import Iterable

from deployer.health.console import AgentLine


def idle_end(lines: Iterable[AgentLine], kept_until: float) -> float | None:
    """When the instance ends itself unless somebody asks something, seconds since the epoch; None while it is in use.

    lines: the last of each phase. kept_until: an end that `deployer extend` moved after the agent had told its own.
    """
    ends = [line.detail.get("ends_at") for line in lines if (line.phase, line.state) == ("idle", "progress")]
    return max(float(end), kept_until) if ends and isinstance(end := ends[-1], int | float) else None
