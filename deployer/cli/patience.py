"""The places stacks are in, for commands that may wait for another operator."""

from __future__ import annotations

from deployer.events import Emit
from deployer.settings import Settings
from deployer.targets.base import Target
from deployer.targets.directory import Directory


class PatientDirectory(Directory):
    """A Directory whose EC2 targets wait for a stack that somebody else holds. lock_wait: how long, in seconds."""

    def __init__(self, settings: Settings, emit: Emit, lock_wait: float) -> None:
        super().__init__(settings, emit)
        self._lock_wait = lock_wait

    def ec2(self, region: str | None = None) -> Target:
        """EC2 in a region. Raises CredentialsError when AWS cannot be asked."""
        from deployer.targets.ec2 import Ec2Target

        return Ec2Target(
            self._settings, region or self._region, self._clock, self._emit, lock_wait_seconds=self._lock_wait
        )
