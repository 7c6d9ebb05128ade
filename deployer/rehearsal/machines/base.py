"""A machine of the embedded cloud: what EC2 hands to a hypervisor, and what it can ask of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

MachineState = Literal["booting", "running", "halting", "halted"]


@dataclass(frozen=True)
class MachineLaunch:
    """One instance to boot.

    address: private and public IPv4 at once. user_data: raw bytes as IMDS returns them (may be gzip).
    metadata: IMDS paths below /latest/meta-data -> text, e.g. `placement/region`, `instance-type`,
    `public-keys/0/openssh-key`, `iam/security-credentials/<role>` (a JSON document).
    """

    instance_id: str
    address: str
    user_data: bytes
    metadata: Mapping[str, str]
    vcpus: int
    memory_mib: int


class Machine(Protocol):
    """A machine that was booted. halt ends every process, socket and mount of it and may be called twice."""

    @property
    def state(self) -> MachineState: ...
    def console(self) -> bytes: ...
    def halt(self) -> None: ...
    def reboot(self) -> None: ...


class Hypervisor(Protocol):
    """Boots machines of one kind. allocate_address gives an unused address; close halts everything and cleans up."""

    kind: str

    def allocate_address(self) -> str: ...
    def boot(self, launch: MachineLaunch) -> Machine: ...
    def close(self) -> None: ...
