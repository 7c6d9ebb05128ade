"""How a client on this machine reaches a stack's endpoint, and with which key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deployer.errors import DeployerError, NotHealthyError, RefusedError
from deployer.events import Emit, Event
from deployer.settings import Settings
from deployer.targets.directory import Place

if TYPE_CHECKING:
    from deployer.access.ssh import SshSession
    from deployer.access.tunnel import Tunnel
    from deployer.targets.ec2 import Ec2Target
    from deployer.targets.ec2_access import Access


class InstanceGoneError(NotHealthyError):
    """What a tunnel led to has ended: waiting does not bring it back."""


@dataclass(frozen=True)
class Reach:
    """url: the OpenAI base URL, None when only a tunnel leads there. port: the server's own.

    open_tunnel: listens on the given local port (0: any free one), None for a stack on this machine.
    certificate: PEM of the endpoint's own, None when it speaks plain HTTP.
    """

    stack: str
    alias: str
    port: int
    url: str | None
    api_key: str = field(repr=False)
    open_tunnel: Callable[[int], Tunnel] | None = None
    certificate: str | None = None

    @property
    def scheme(self) -> str:
        """`https` or `http`, in front of a tunnel's address as well."""
        return "https" if self.certificate else "http"


@contextmanager
def open_way(way: Reach, emit: Emit) -> Iterator[str]:
    """The base URL that answers from here: the endpoint's own, else a tunnel's for as long as the block lasts."""
    from deployer.health.client import EngineClient, Refused, TimedOut

    if way.url is not None:
        client = EngineClient(lambda: str(way.url), way.api_key, certificate=way.certificate)
        seen = client.health()
        client.close()
        if way.open_tunnel is None or not isinstance(seen, Refused | TimedOut):
            yield way.url
            return
        emit(Event("warning", {"message": f"{way.url} does not answer from here ({seen.text}): through SSH instead"}))
    assert way.open_tunnel is not None
    with way.open_tunnel(0) as tunnel:
        yield f"{way.scheme}://127.0.0.1:{tunnel.local_port}/v1"


def reach(place: Place, settings: Settings) -> Reach:
    """Look up a stack that is up. Raises RefusedError when there is none of that name, or it has no endpoint yet."""
    from deployer.targets.ec2 import Ec2Target

    match place.target:
        case Ec2Target() as target:
            return _ec2(target, target.open_access(place.stack))
        case _:
            return _local(place.stack, settings)


def _ec2(target: Ec2Target, access: Access) -> Reach:
    from deployer.access.ssh import connect
    from deployer.access.tunnel import open_tunnel

    def open_to(local_port: int) -> Tunnel:
        session = connect(access.ssh)
        return open_tunnel(session, access.remote_port, local_port=local_port, reconnect=lambda: _again(target, access))

    direct = (
        f"{access.scheme}://{access.ssh.host}:{access.remote_port}/v1" if access.endpoint.expose != "tunnel" else None
    )
    facts = access.endpoint
    return Reach(access.stack, facts.alias, access.remote_port, direct, access.api_key(), open_to, access.certificate)


def _again(target: Ec2Target, access: Access) -> SshSession:
    """A new session, at the address that the instance has now.

    Raises InstanceGoneError when no later try can work, SshError when one may.
    """
    from deployer.access.errors import SshError
    from deployer.access.ssh import connect
    from deployer.targets.ec2_access import NotRunningError

    try:
        return connect(access.ssh)
    except SshError as error:
        try:
            now = target.open_access(access.stack).ssh
        except NotRunningError as gone:
            raise InstanceGoneError(
                f"{gone.message}: the tunnel leads nowhere", where=access.stack, hint=gone.hint
            ) from error
        except DeployerError:
            # AWS cannot be asked now: the tunnel's own trouble is what counts.
            raise error from None
        if now == access.ssh:
            raise
        return connect(now)


def _local(stack: str, settings: Settings) -> Reach:
    from deployer.targets.local_state import stack_folder

    folder = stack_folder(settings, stack)
    record = folder.record()
    if record is None:
        raise RefusedError(
            f"there is no stack {stack} on this machine", where=str(folder.path), hint="deployer ls shows what is"
        )
    return Reach(stack, record.alias, record.port, record.url, folder.ensure_api_key())
