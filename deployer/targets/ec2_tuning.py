"""`deployer tune` of a stack on EC2: the request goes to the agent through SSH, the answer comes on the console."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, replace

from deployer.access.ssh import SshSession, connect
from deployer.access.tunnel import open_tunnel
from deployer.aws.resources import instance
from deployer.decide.types import BoxPaths
from deployer.errors import NotHealthyError
from deployer.health.instance import InstanceRunning
from deployer.reconcile import record as records
from deployer.reconcile.operation import Operation
from deployer.targets.ec2_access import access_to
from deployer.targets.ec2_ladder import describe
from deployer.targets.tuning import Tuned, tune

#: $1: text, $2: file. In one step, so that the agent never reads half; with the agent's own prefix for paths.
_PUT = 'file="${DEPLOYER_AGENT_ROOT:-}$2"; printf %s "$1" > "$file.new" && mv "$file.new" "$file"'


class _Remote:
    """The agent's state folder, through SSH."""

    def __init__(self, session: SshSession) -> None:
        self._session = session

    def put(self, name: str, text: str) -> None:
        path = f"{BoxPaths().state_dir}/{name}"
        done = self._session.exec(["sudo", "-n", "sh", "-c", _PUT, "sh", text, path])
        if done.exit_code:
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
            raise NotHealthyError(f"{path} could not be written (exit status {done.exit_code}): {said}", where=path)


def tune_stack(op: Operation, *, measure_only: bool) -> Tuned:
    """Raises RefusedError or SshError before anything is asked for when the instance cannot be reached."""
    access = access_to(op.aws, op.settings, op.names.stack)
    with ExitStack() as opened:
        session = opened.enter_context(connect(access.ssh))
        tunnel = opened.enter_context(open_tunnel(session, access.remote_port, reconnect=lambda: connect(access.ssh)))
        start = op.clock.monotonic()
        report = tune(
            _Remote(session),
            instance=InstanceRunning(lambda: describe(op, access.instance_id)),
            console=lambda: instance.console(op.aws, access.instance_id),
            base_url=f"{access.scheme}://127.0.0.1:{tunnel.local_port}",
            alias=access.endpoint.alias,
            certificate=access.certificate,
            api_key=access.api_key(),
            measure_only=measure_only,
            clock=op.clock,
            emit=op.emit,
            keep_alive=op.lease.check,
        )
        record = records.read(op.aws, op.names)
        if record is not None and report.applied and report.chosen is not None:
            op.write(replace(record, tuned=asdict(report.chosen)))
        return Tuned(op.names.stack, report, round(op.clock.monotonic() - start, 1))
