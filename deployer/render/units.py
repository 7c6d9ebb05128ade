"""The systemd units of an instance."""

from __future__ import annotations

import time

from deployer.render.environment import render_template
from deployer.render.program import PACKAGE

AGENT_UNIT = "deployer-agent.service"
TTL_TIMER = "deployer-ttl.timer"
TTL_UNITS = ("deployer-ttl.service", TTL_TIMER)
IDLE_TIMER = "deployer-idle.timer"
IDLE_UNITS = ("deployer-idle.service", IDLE_TIMER)
#: An instance on which nothing serves, because its agent failed, ends after this, or after the idle time when that is
#: longer: time enough to download and load anew, or to look at it.
BROKEN_SECONDS = 3600
LIBRARY = "/opt/deployer/lib"
CONFIG_PATH = "/etc/deployer/agent.json"
UNIT_FOLDER = "/etc/systemd/system"


def agent_unit(stack: str, *, ends_idle: bool = False) -> str:
    """The unit that runs the agent. ends_idle: whenever it ends, the timer of an instance that serves nobody starts."""
    timer = IDLE_TIMER if ends_idle else None
    return render_template(f"systemd/{AGENT_UNIT}.j2", stack=stack, command=_command(), library=LIBRARY, timer=timer)


def _command(*options: str) -> list[str]:
    return ["/usr/bin/python3", "-m", PACKAGE, *options, "--config", CONFIG_PATH]


def units(stack: str, expires_at: float | None, idle_seconds: float | None = None) -> dict[str, str]:
    """File name -> text; with a time to live (seconds since the epoch) or an idle time their services and timers."""
    texts = {AGENT_UNIT: agent_unit(stack, ends_idle=idle_seconds is not None)}
    if idle_seconds is not None:
        for name in IDLE_UNITS:
            seconds = max(BROKEN_SECONDS, idle_seconds)
            texts[name] = render_template(f"systemd/{name}.j2", stack=stack, seconds=f"{seconds:.0f}")
    if expires_at is not None:
        expires = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(expires_at))
        for name in TTL_UNITS:
            texts[name] = render_template(
                f"systemd/{name}.j2", stack=stack, expires=expires, command=_command("--lifetime"), library=LIBRARY
            )
    return texts
