"""Which target a stack is on: from its spec, or by looking at every place a stack can be."""

from __future__ import annotations

from dataclasses import dataclass

from deployer.clock import Clock, SystemClock
from deployer.decide.types import Deployment
from deployer.errors import CredentialsError
from deployer.events import Emit
from deployer.settings import Settings
from deployer.spec.models import Ec2Stack, LocalStack
from deployer.targets.base import StackStatus, Target

#: Where stacks are looked for when neither a flag nor the environment names a region.
DEFAULT_REGION = "cn-northwest-1"


def region_of(settings: Settings) -> str:
    """The region to look in: --region, DEPLOYER_REGION, AWS_REGION, AWS_DEFAULT_REGION, then China's Ningxia."""
    environ = settings.environ
    return settings.region or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or DEFAULT_REGION


@dataclass(frozen=True)
class Place:
    """A stack's name and the target it is on. kind: `ec2` or `local`."""

    stack: str
    kind: str
    target: Target


@dataclass(frozen=True)
class Found:
    """Every stack that was seen, and why a place was not looked at (`notes`)."""

    stacks: tuple[StackStatus, ...]
    notes: tuple[str, ...]


class Directory:
    """The targets, opened when they are first asked."""

    def __init__(self, settings: Settings, emit: Emit, clock: Clock | None = None) -> None:
        self._settings = settings
        self._region = region_of(settings)
        self._emit = emit
        self._clock = clock or SystemClock()

    def local(self) -> Target:
        """Stacks on this machine."""
        from deployer.targets.local import LocalTarget

        return LocalTarget(self._settings, self._clock, self._emit)

    def ec2(self, region: str | None = None) -> Target:
        """EC2 in a region. Raises CredentialsError when AWS cannot be asked."""
        from deployer.targets.ec2 import Ec2Target

        return Ec2Target(self._settings, region or self._region, self._clock, self._emit)

    def of(self, deployment: Deployment) -> Target:
        """The target that a deployment is for."""
        match deployment.spec:
            case LocalStack():
                return self.local()
            case Ec2Stack():
                return self.ec2(deployment.spec.region)

    def place(self, stack: str, kind: str | None, region: str | None) -> Place:
        """Where a stack is or would be, its spec (`kind`) telling; without one, this machine comes first."""
        if kind is None:
            here = any(status.stack == stack for status in self.local().list_stacks())
            kind = "local" if here else "ec2"
        return Place(stack, kind, self.local() if kind == "local" else self.ec2(region))

    def look(self) -> Found:
        """Every stack here and in the region. Without usable credentials: the local ones and a note."""
        stacks = self.local().list_stacks()
        try:
            stacks += self.ec2().list_stacks()
        except CredentialsError as error:
            return Found(tuple(stacks), (f"EC2 in {self._region} was not asked: {error.message}",))
        return Found(tuple(stacks), ())
