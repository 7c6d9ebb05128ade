"""The agent's phases as they stand: of the latest boot, each by its last line."""

from __future__ import annotations

from collections.abc import Iterable

from deployer.health.console import AgentLine


def latest(lines: Iterable[AgentLine]) -> list[AgentLine]:
    """The last line of each phase in the order in which they came. lines: in the order of the console.

    A new boot starts anew; an engine that starts again or is being tuned is not ready, whatever was said before.
    """
    shown: dict[str, AgentLine] = {}
    for line in lines:
        match line.phase, line.state:
            case "boot", "start":
                shown.clear()
            case ("engine", "start" | "restarting") | ("tuning", "start"):
                shown.pop("ready", None)
        shown.pop(line.phase, None)
        shown[line.phase] = line
    return list(shown.values())
