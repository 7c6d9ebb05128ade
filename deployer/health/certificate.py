"""The endpoint's certificate, as the agent told it on the console."""

from __future__ import annotations

from collections.abc import Iterable

from deployer.errors import RefusedError
from deployer.health.console import AgentLine, ConsoleReader


def told(lines: Iterable[AgentLine]) -> str | None:
    """PEM, of the latest start that made or found one; None when none was told."""
    latest = None
    for line in lines:
        latest = line.certificate or latest
    return latest


def from_console(text: str, *, tls: bool) -> str | None:
    """None over plain HTTP. Raises RefusedError when the endpoint speaks https and its certificate is not to be seen.

    It is never answered by plain HTTP then: the API key would go out to whoever listens.
    """
    if not tls:
        return None
    found = told(ConsoleReader().read(text))
    if found is None:
        raise RefusedError("the instance has not told its certificate on its console yet", hint="try again in a minute")
    return found
