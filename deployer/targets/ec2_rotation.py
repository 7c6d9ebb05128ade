"""A new API key for a stack on EC2: first in SSM, which is the truth, then in the engine.

Cut off in between, the engine holds the old key and SSM the new one: rotating again, or a reboot, brings them together.
"""

from __future__ import annotations

from contextlib import ExitStack

from deployer.access.secrets import new_api_key
from deployer.access.ssh import SshSession, connect
from deployer.access.tunnel import open_tunnel
from deployer.aws.resources import api_key, instance
from deployer.errors import NotHealthyError
from deployer.events import Event
from deployer.health.instance import InstanceRunning
from deployer.reconcile.operation import Operation
from deployer.render.units import AGENT_UNIT
from deployer.targets.ec2_access import access_to
from deployer.targets.ec2_ladder import describe
from deployer.targets.rotation import Rotated, foretell, prove

#: Ending the engine takes the agent up to 8 s, the service manager 20.
_RESTART_SECONDS = 60.0


def rotate(op: Operation) -> Rotated:
    """Raises RefusedError or SshError before anything is changed when the instance cannot be reached."""
    access = access_to(op.aws, op.settings, op.names.stack)
    with ExitStack() as opened:
        session = opened.enter_context(connect(access.ssh))
        console = instance.console(op.aws, access.instance_id)
        foretell(console, op.emit)
        old, new = access.api_key(), new_api_key()
        op.lease.check()
        api_key.replace(op.aws, op.names, new)
        op.emit(Event("warning", {"message": "SSM has the new key; the engine gets it now"}))
        start = op.clock.monotonic()
        _restart_agent(session)
        tunnel = opened.enter_context(open_tunnel(session, access.remote_port, reconnect=lambda: connect(access.ssh)))
        prove(
            instance=InstanceRunning(lambda: describe(op, access.instance_id)),
            console=lambda: instance.console(op.aws, access.instance_id),
            base_url=f"{access.scheme}://127.0.0.1:{tunnel.local_port}",
            alias=access.endpoint.alias,
            certificate=access.certificate,
            old=old,
            new=new,
            clock=op.clock,
            emit=op.emit,
            keep_alive=op.lease.check,
        )
        return Rotated(op.names.stack, round(op.clock.monotonic() - start, 1))


def _restart_agent(session: SshSession) -> None:
    done = session.exec(["sudo", "-n", "systemctl", "restart", AGENT_UNIT], timeout=_RESTART_SECONDS)
    if done.exit_code:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise NotHealthyError(
            f"the agent could not be started again (exit status {done.exit_code}): {said}",
            where=AGENT_UNIT,
            hint="the engine still takes the old key; `deployer key rotate` again, or reboot the instance",
        )
