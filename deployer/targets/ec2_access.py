"""From a stack's name to a login: address, user, key, pinned host keys, and the API key when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from deployer.access.host_keys import from_console
from deployer.access.login import SshTarget
from deployer.aws.names import Names
from deployer.aws.resources import api_key, instance
from deployer.aws.resources.instance import Instance
from deployer.aws.session import Aws
from deployer.errors import RefusedError
from deployer.health import certificate
from deployer.reconcile import record as records
from deployer.reconcile.operation import made_key_path
from deployer.reconcile.record import EndpointFacts, Record
from deployer.settings import Settings


@dataclass(frozen=True)
class Access:
    """remote_port: the engine's port on the instance's loopback. api_key: reads the key from AWS when called.

    certificate: PEM of the endpoint's own, None when it speaks plain HTTP.
    """

    stack: str
    region: str
    ssh: SshTarget
    remote_port: int
    endpoint: EndpointFacts
    api_key: Callable[[], str]
    instance_id: str = ""
    certificate: str | None = None

    @property
    def scheme(self) -> str:
        """`https` or `http`."""
        return "https" if self.certificate else "http"


class NotRunningError(RefusedError):
    """The stack has no instance that runs, or will without an `up`."""


def access_to(aws: Aws, settings: Settings, stack: str) -> Access:
    """Raises NotRunningError when the stack is not there or not running, RefusedError before its host keys are."""
    names = Names(stack, aws.region)
    record = records.read(aws, names)
    if record is None:
        raise NotRunningError(
            f"there is no stack {stack} in {aws.region}, or its record is gone",
            hint="`deployer ls` shows what is; `deployer up` makes a lost record again",
        )
    found = instance.by_id(aws, stack, record.ids["instance"]) if "instance" in record.ids else None
    if found is None or found.state != "running":
        state = found.state if found else record.phase
        text = f"stack {stack} has no running instance ({state})"
        if state == "pending":
            raise RefusedError(text, hint="try again in a minute")
        raise NotRunningError(text, hint="`deployer up` brings it back")
    console = instance.console(aws, found.id)
    host_keys = tuple(from_console(console))
    if not host_keys:
        raise RefusedError(
            f"{found.id} has not printed its SSH host keys on its console yet", hint="try again in a minute"
        )
    return Access(
        stack=stack,
        region=aws.region,
        ssh=ssh_target(settings, names, record, found, host_keys),
        remote_port=record.endpoint.port,
        endpoint=record.endpoint,
        api_key=lambda: api_key.read(aws, names),
        instance_id=found.id,
        certificate=certificate.from_console(console, tls=record.endpoint.tls),
    )


def ssh_target(
    settings: Settings, names: Names, record: Record, found: Instance, host_keys: tuple[str, ...]
) -> SshTarget:
    """Through a bastion the address inside the VPC, else the one outside. Raises RefusedError without any address."""
    access = record.access
    host = found.private_address if access.bastion else found.address
    if host is None:
        raise RefusedError(f"{found.id} has no address yet", hint="try again in a minute")
    key_path = Path(access.key).expanduser() if access.key else made_key_path(settings, names)
    return SshTarget(
        host=host,
        port=access.port,
        user=access.user,
        key_path=key_path,
        host_keys=host_keys,
        bastion=access.bastion,
        bastion_pins=settings.home / "bastions",
    )
