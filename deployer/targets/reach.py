"""How a client on this machine reaches a stack's endpoint, and with which key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deployer.errors import RefusedError
from deployer.settings import Settings
from deployer.targets.directory import Place

if TYPE_CHECKING:
    from deployer.access.tunnel import Tunnel


@dataclass(frozen=True)
class Reach:
    """url: the OpenAI base URL, None when only a tunnel leads there. port: the server's own.

    open_tunnel: listens on the given local port (0: any free one), None when no tunnel is needed.
    """

    stack: str
    alias: str
    port: int
    url: str | None
    api_key: str = field(repr=False)
    open_tunnel: Callable[[int], Tunnel] | None = None


def reach(place: Place, settings: Settings) -> Reach:
    """Look up a stack that is up. Raises RefusedError when there is none of that name, or it has no endpoint yet."""
    if place.kind == "local":
        return _local(place.stack, settings)
    raise NotImplementedError


def _local(stack: str, settings: Settings) -> Reach:
    from deployer.targets.local_state import stack_folder

    folder = stack_folder(settings, stack)
    record = folder.record()
    if record is None:
        raise RefusedError(
            f"there is no stack {stack} on this machine", where=str(folder.path), hint="deployer ls shows what is"
        )
    return Reach(stack, record.alias, record.port, record.url, folder.ensure_api_key())
