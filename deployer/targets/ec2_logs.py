"""The logs of a stack on EC2: the serial console through the AWS API, the engine's log through SSH."""

from __future__ import annotations

from contextlib import suppress

from deployer.access.files import GrowingFile
from deployer.aws.names import Names
from deployer.aws.resources import api_key, instance
from deployer.aws.resources.instance import Instance
from deployer.aws.session import Aws
from deployer.decide.types import BoxPaths
from deployer.errors import DeployerError, RefusedError
from deployer.reconcile import record as records
from deployer.settings import Settings
from deployer.targets.logs import Logs

#: GetConsoleOutput is throttled for each account; the console itself is some seconds old anyway.
_POLL_SECONDS = 5.0


def logs_of(aws: Aws, settings: Settings, stack: str) -> Logs:
    """Of the recorded instance, else of the newest one, terminated or not. Raises RefusedError when there is none.

    AWS shows a terminated instance's console for about an hour.
    """
    names = Names(stack, aws.region)
    found = _machine(aws, names)

    def open_engine() -> GrowingFile:
        from deployer.access.remote_file import RemoteFile
        from deployer.access.ssh import connect
        from deployer.targets.ec2_access import access_to

        return RemoteFile(connect(access_to(aws, settings, stack).ssh), BoxPaths().engine_log)

    key: str | None = None
    with suppress(DeployerError):
        key = api_key.read(aws, names)
    return Logs(
        machine=found.id,
        console=lambda: instance.console(aws, found.id),
        open_engine=open_engine,
        api_key=key,
        poll_seconds=_POLL_SECONDS,
    )


def _machine(aws: Aws, names: Names) -> Instance:
    record = records.read(aws, names)
    machines = [one for one in instance.observe(aws, names.stack) if one.ours]
    recorded = record.ids.get("instance") if record else None
    found = next((one for one in machines if one.id == recorded), machines[-1] if machines else None)
    if found is not None:
        return found
    if record is None:
        raise RefusedError(f"there is no stack {names.stack} in {names.region}", hint="deployer ls shows what is")
    raise RefusedError(
        f"stack {names.stack} has no instance ({record.phase})",
        hint=f"`deployer status {names.stack}` shows what it has",
    )
