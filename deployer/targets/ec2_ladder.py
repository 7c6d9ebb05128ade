"""The health ladder over an instance: AWS's state, the console, then real requests through an SSH tunnel."""

from __future__ import annotations

from contextlib import ExitStack

from deployer.access.pinning import fingerprint
from deployer.access.ssh import connect
from deployer.access.tunnel import open_tunnel
from deployer.aws.resources import api_key, instance
from deployer.decide.types import Deployment
from deployer.events import Event
from deployer.health.agent import AgentFacts, AgentPhases
from deployer.health.base import Observation
from deployer.health.certificate import from_console
from deployer.health.instance import InstanceRunning
from deployer.health.ladder import climb
from deployer.health.rungs import rungs_for
from deployer.reconcile import record as records
from deployer.reconcile.operation import Operation
from deployer.reconcile.record import Record
from deployer.targets.ec2_access import ssh_target
from deployer.targets.ec2_outside import from_outside, own_address


def climb_ladder(op: Operation, deployment: Deployment, instance_id: str) -> AgentFacts:
    """Every rung; what the agent told. Raises BootstrapError or NotHealthyError with what was seen last.

    Requests go to the engine's loopback through the tunnel, whatever the spec exposes: a port that is blocked outside
    must not look like an engine that is ill.
    """
    with ExitStack() as opened:

        def open_endpoint(agent: AgentPhases) -> str:
            record = records.read(op.aws, op.names)
            found = instance.by_id(op.aws, op.names.stack, instance_id)
            assert record is not None
            assert found is not None
            opened.close()
            target = ssh_target(op.settings, op.names, record, found, agent.facts.host_keys)
            tunnel = opened.enter_context(open_tunnel(connect(target), record.endpoint.port))
            return f"{'https' if record.endpoint.tls else 'http'}://127.0.0.1:{tunnel.local_port}"

        rungs = rungs_for(
            deployment,
            instance=InstanceRunning(lambda: describe(op, instance_id)),
            console=lambda: instance.console(op.aws, instance_id),
            open_endpoint=open_endpoint,
            api_key=api_key.read(op.aws, op.names),
            emit=op.emit,
        )
        climb(rungs.probes, clock=op.clock, emit=op.emit, keep_alive=op.lease.check)
        return rungs.agent.facts


def describe(op: Operation, instance_id: str) -> str:
    """EC2's state, with the reason when EC2 gives one; empty while the instance does not show."""
    found = instance.by_id(op.aws, op.names.stack, instance_id)
    if found is None:
        return ""
    return f"{found.state}: {found.reason}" if found.reason and not found.live else found.state


def announce(op: Operation, record: Record) -> str | None:
    """Say where the endpoint is. Returns its URL, None when a tunnel must be opened first."""
    endpoint = record.endpoint
    url: str | None = None
    pinned: str | None = None
    outside: Observation | None = None
    found = None if endpoint.expose == "tunnel" else instance.by_id(op.aws, op.names.stack, record.ids["instance"])
    if found is not None:
        address = own_address(record, found)
        url = f"{'https' if endpoint.tls else 'http'}://{address}:{endpoint.port}/v1" if address else None
        certificate = from_console(instance.console(op.aws, found.id), tls=endpoint.tls)
        pinned = fingerprint(certificate) if certificate else None
        outside = from_outside(op.aws, op.settings, op.names, record, found, certificate)
    command = (
        f"aws ssm get-parameter --region {op.names.region} --name {op.names.api_key} "
        "--with-decryption --query Parameter.Value --output text"
    )
    told = {"url": url, "alias": endpoint.alias, "expose": endpoint.expose, "certificate_sha256": pinned}
    op.emit(Event("endpoint", {**told, "key_command": command}))
    if outside is not None and outside.error is not None:
        op.emit(Event("warning", {"message": outside.text, "hint": outside.error.hint}))
    return url
