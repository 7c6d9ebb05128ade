"""The systemd units of an instance."""

from __future__ import annotations

import time

from deployer.render.environment import render_template
from deployer.render.program import PACKAGE

AGENT_UNIT = "deployer-agent.service"
TTL_UNITS = ("deployer-ttl.service", "deployer-ttl.timer")
LIBRARY = "/opt/deployer/lib"
CONFIG_PATH = "/etc/deployer/agent.json"
UNIT_FOLDER = "/etc/systemd/system"


def agent_unit(stack: str) -> str:
    """The unit that runs the agent."""
    return render_template(f"systemd/{AGENT_UNIT}.j2", stack=stack, command=_command(), library=LIBRARY)


def _command(*options: str) -> list[str]:
    return ["/usr/bin/python3", "-m", PACKAGE, *options, "--config", CONFIG_PATH]


def units(stack: str, expires_at: float | None) -> dict[str, str]:
    """File name -> text; with a time to live (seconds since the epoch) its service and timer too."""
    texts = {AGENT_UNIT: agent_unit(stack)}
    if expires_at is not None:
        expires = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(expires_at))
        for name in TTL_UNITS:
            texts[name] = render_template(
                f"systemd/{name}.j2", stack=stack, expires=expires, command=_command("--lifetime"), library=LIBRARY
            )
    return texts
