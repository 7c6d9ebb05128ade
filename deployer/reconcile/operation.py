"""What one `up` or `down` carries through every step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from deployer.aws.names import Names
from deployer.aws.session import Aws
from deployer.clock import Clock
from deployer.events import Emit
from deployer.reconcile import record as records
from deployer.reconcile.lease import Lease
from deployer.reconcile.record import Record
from deployer.settings import Settings


@dataclass(frozen=True)
class Operation:
    """One stack, one account, one holder of its lease."""

    aws: Aws
    names: Names
    settings: Settings
    clock: Clock
    emit: Emit
    lease: Lease

    def write(self, record: Record) -> Record:
        """Write the record, if the lease is still ours."""
        self.lease.check()
        return records.write(self.aws, self.names, record.stamped(self.clock.now()))


def made_key_path(settings: Settings, names: Names) -> Path:
    """Where the private key lies that we make for a stack."""
    return settings.home / "keys" / names.region / names.stack
