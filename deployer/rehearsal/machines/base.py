"""A machine of the embedded cloud: what EC2 hands to a hypervisor, and what it can ask of one."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

MachineState = Literal["booting", "running", "halting", "halted"]


@dataclass(frozen=True)
class MachineLaunch:
    """One instance to boot.

    address: private and public IPv4 at once. user_data: raw bytes as IMDS returns them (may be gzip).
    metadata: IMDS paths below /latest/meta-data -> text, e.g. `placement/region`, `instance-type`,
    `public-keys/0/openssh-key`, `iam/security-credentials/<role>` (a JSON document); a notice may come later.
    """

    instance_id: str
    address: str
    user_data: bytes
    metadata: MutableMapping[str, str]
    vcpus: int
    memory_mib: int


class Machine(Protocol):
    """A machine that was booted. halt ends every process, socket and mount of it and may be called twice."""

    @property
    def state(self) -> MachineState: ...
    def console(self) -> bytes: ...
    def halt(self) -> None: ...
    def reboot(self) -> None: ...


@runtime_checkable
class Stoppable(Protocol):
    """A machine whose disk outlives a stop: the next boot of its launch finds it, and `halt` takes it away."""

    def stop(self) -> None: ...


class Hypervisor(Protocol):
    """Boots machines of one kind. allocate_address gives an unused address; close halts everything and cleans up."""

    kind: str

    def allocate_address(self) -> str: ...
    def boot(self, launch: MachineLaunch) -> Machine: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class IngressRule:
    """What one permission of a security group lets in. source: an IPv4 network in CIDR notation.

    protocol: `tcp`, `udp`, `icmp`, another name or number of IP's, or `-1` for all. ports: first and last of TCP and
    UDP; None for all of them.
    """

    protocol: str
    ports: tuple[int, int] | None
    source: str


@runtime_checkable
class Networked(Protocol):
    """A hypervisor whose machines are on a network of their own, behind security groups that are enforced."""

    def apply_firewall(self, instance_id: str, rules: Sequence[IngressRule]) -> None:
        """What may reach the instance from now on, also before it is booted; nothing until the first call."""
        ...

    def client_env(self, env: Mapping[str, str]) -> dict[str, str]:
        """What changes in a client's environment, given what it would be for machines on loopback."""
        ...
