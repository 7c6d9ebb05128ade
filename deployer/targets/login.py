"""From a stack to what a person does on its machine: log in, read its logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deployer.errors import UsageError
from deployer.settings import Settings
from deployer.targets.directory import Place

if TYPE_CHECKING:
    from deployer.targets.ec2_access import Access
    from deployer.targets.logs import Logs


def login(place: Place) -> Access:
    """How to log in. Raises UsageError for a stack on this machine, RefusedError for one that is not up."""
    from deployer.targets.ec2 import Ec2Target

    match place.target:
        case Ec2Target() as target:
            return target.open_access(place.stack)
        case _:
            raise UsageError(
                f"stack {place.stack} runs on this machine: there is nothing to log in to",
                hint=f"use a shell; `deployer status {place.stack}` names its files",
            )


def logs(place: Place, settings: Settings) -> Logs:
    """What the stack's machine has said. Raises RefusedError when there is no such stack."""
    from deployer.targets.ec2 import Ec2Target
    from deployer.targets.local_logs import logs_of
    from deployer.targets.local_state import stack_folder

    match place.target:
        case Ec2Target() as target:
            return target.open_logs(place.stack)
        case _:
            return logs_of(stack_folder(settings, place.stack))
