"""From a stack to a tuning of its machine, wherever it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deployer.clock import Clock
from deployer.events import Emit
from deployer.settings import Settings
from deployer.targets.directory import Place

if TYPE_CHECKING:
    from deployer.targets.tuning import Tuned


def tune(place: Place, settings: Settings, clock: Clock, emit: Emit, *, measure_only: bool) -> Tuned:
    """Raises RefusedError when the stack does not run, LockedError, BootstrapError, NotHealthyError."""
    from deployer.targets.ec2 import Ec2Target

    match place.target:
        case Ec2Target() as target:
            return target.tune(place.stack, measure_only=measure_only)
        case _:
            from deployer.targets.local_tuning import tune_stack

            return tune_stack(settings, place.stack, clock, emit, measure_only=measure_only)
