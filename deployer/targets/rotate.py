"""From a stack to a new API key, wherever it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deployer.clock import Clock
from deployer.events import Emit
from deployer.settings import Settings
from deployer.targets.directory import Place

if TYPE_CHECKING:
    from deployer.targets.rotation import Rotated


def rotate_key(place: Place, settings: Settings, clock: Clock, emit: Emit) -> Rotated:
    """Raises RefusedError when the stack is not there, LockedError, BootstrapError, NotHealthyError."""
    from deployer.targets.ec2 import Ec2Target

    match place.target:
        case Ec2Target() as target:
            return target.rotate_key(place.stack)
        case _:
            from deployer.targets.local_rotation import rotate

            return rotate(settings, place.stack, clock, emit)
