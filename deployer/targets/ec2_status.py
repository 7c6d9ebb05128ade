"""A stack on EC2 as `ls` and `status` show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from deployer.access.errors import SshError
from deployer.access.pinning import fingerprint
from deployer.access.ssh import connect
from deployer.access.tunnel import open_tunnel
from deployer.aws import errors
from deployer.aws.names import Names
from deployer.aws.resources import api_key, instance
from deployer.aws.resources.instance import Instance
from deployer.aws.session import Aws
from deployer.aws.tags import expires_at
from deployer.errors import AwsError, DeployerError, RefusedError
from deployer.events import Emit, Event, Json, ignore
from deployer.health.agent import AgentPhases
from deployer.health.base import Observation, Probe
from deployer.health.certificate import told
from deployer.health.client import EngineClient
from deployer.health.console import ConsoleReader
from deployer.health.engine import EngineHealth
from deployer.health.models import ModelListed
from deployer.health.notices import idle_end, taken_back
from deployer.health.phases import latest
from deployer.reconcile import parallel
from deployer.reconcile import record as records
from deployer.reconcile.lease import Hold
from deployer.reconcile.lease import current as current_lease
from deployer.reconcile.observe import Observed, observe
from deployer.reconcile.record import Record
from deployer.settings import Settings
from deployer.spec.values import parse_duration_seconds
from deployer.targets.base import StackStatus
from deployer.targets.ec2_access import ssh_target
from deployer.targets.ec2_drift import drift_of
from deployer.targets.ec2_outside import from_outside
from deployer.targets.spending import known_prices, spent_on

#: `status` looks, it does not wait.
SSH_SECONDS = 5.0


def summary_of(
    region: str,
    stack: str,
    record: Record | None,
    seen: Instance | None = None,
    *,
    idle_ends_at: float | None = None,
    **details: Json,
) -> StackStatus:
    """From the record; without one, what an instance of the stack shows, so that it can be taken down.

    seen: that instance. idle_ends_at: see StackStatus.
    """
    if record is None:
        return StackStatus(
            stack=stack,
            target="ec2",
            region=region,
            phase="no record",
            instance_type=seen.type if seen else None,
            model=None,
            created_at=seen.launched_at if seen else None,
            expires_at=expires_at(seen.tags) if seen else None,
            details=details,
        )
    return StackStatus(
        stack=stack,
        target="ec2",
        region=region,
        phase=record.phase,
        instance_type=record.endpoint.instance_type,
        model=record.endpoint.model,
        created_at=record.created_at,
        expires_at=record.expires_at,
        details=details,
        idle_seconds=float(parse_duration_seconds(record.idle)) if record.idle else None,
        idle_ends_at=idle_ends_at,
    )


def every_stack(aws: Aws, emit: Emit, now: float) -> list[StackStatus]:
    """Every stack that has a record, or an instance that carries a stack's tag, by name. now: for what was spent."""

    def tagged() -> dict[str, Instance]:
        try:
            return instance.of_every_stack(aws)
        except AwsError as error:
            if errors.meaning(error.aws_code) != "permission":
                raise
            emit(Event("warning", {"message": f"only records are shown: {error.message}", "hint": error.hint}))
            return {}

    looks: dict[str, Callable[[], Any]] = {"records": lambda: dict(records.every(aws)), "instances": tagged}
    seen = parallel.gather(looks)
    known: dict[str, Record | None] = seen["records"]
    instances: dict[str, Instance] = seen["instances"]
    alone = {name: one for name, one in instances.items() if name not in known}
    found = [_recorded(aws.region, stack, record) for stack, record in known.items()]
    found += [
        summary_of(aws.region, stack, None, one, instance_id=one.id, state=one.state) for stack, one in alone.items()
    ]
    prices = known_prices(aws, instances.values())
    found = [replace(one, spent=spent_on(instances.get(one.stack), prices, now)) for one in found]
    return sorted(found, key=lambda status: status.stack)


def _recorded(region: str, stack: str, record: Record | None) -> StackStatus:
    """A record that cannot be read shows too, so that it can be taken down."""
    shown = summary_of(region, stack, record)
    return shown if record is not None else replace(shown, phase="unknown")


def status_of(aws: Aws, settings: Settings, stack: str, now: float) -> StackStatus:
    """Record, resources, phases, and one look at each rung. now: for what was spent.

    Raises RefusedError when nothing of the stack exists.
    """
    names = Names(stack, aws.region)
    observed, more = observe(aws, names, lease=lambda: current_lease(aws, names))
    resources = _resources(observed)
    if observed.record is None and not resources:
        raise RefusedError(f"there is no stack {stack} in {aws.region}", hint="deployer ls shows what is")
    recorded = observed.record.ids.get("instance") if observed.record else None
    current = next((one for one in observed.instances if one.id == recorded), None)
    current = current or (observed.live[-1] if observed.live else None)
    console = instance.console(aws, current.id) if current is not None and current.live else ""
    said = latest(ConsoleReader().read(console))
    phases: list[Json] = [
        {"phase": line.phase, "state": line.state, "seconds": line.seconds, "message": line.message} for line in said
    ]
    record = observed.record
    taken = next(filter(None, map(taken_back, said)), None) if current is not None and current.live else None
    probes, tokens = _probes(aws, settings, names, record, current, console)
    shown = summary_of(
        aws.region,
        stack,
        record,
        current,
        idle_ends_at=idle_end(said, record.keep_until if record else 0.0),
        generation=record.generation if record else None,
        instance_id=current.id if current else None,
        state=current.state if current else None,
        address=current.address if current else None,
        zone=current.zone if current else None,
        endpoint={
            "alias": record.endpoint.alias,
            "port": record.endpoint.port,
            "expose": record.endpoint.expose,
            "certificate_sha256": _pinned(console) if record.endpoint.tls else None,
        }
        if record
        else None,
        resources=resources,
        drift=list(drift_of(record, observed, current)) if record else [],
        lease=_lease(more["lease"]),
        tuned=dict(record.tuned) if record and record.tuned else None,
        phases=phases,
        probes=probes,
    )
    if current is not None:
        shown = replace(shown, spent=spent_on(current, known_prices(aws, [current]), now, tokens))
    interrupted = taken is not None or (current is not None and current.interrupted)
    if interrupted:
        return replace(shown, phase="interrupted")
    tuning = any(line.phase == "tuning" and line.state in ("start", "progress") for line in said)
    return replace(shown, phase="tuning") if tuning and shown.phase == "ready" else shown


def _pinned(console: str) -> str | None:
    certificate = told(ConsoleReader().read(console))
    return fingerprint(certificate) if certificate else None


def _lease(hold: Hold | None) -> Json:
    if hold is None:
        return None
    return {"holder": str(hold.holder), "since": hold.since, "expires_at": hold.expires_at}


def _resources(observed: Observed) -> list[Json]:
    found: list[tuple[str, str, str]] = [
        ("instance", one.id, one.state) for one in observed.instances if one.ours and one.state != "terminated"
    ]
    found += [("security-group", group.id, "exists") for group in observed.groups if group.ours]
    named = {
        "key-pair": observed.key_pair,
        "role": observed.role,
        "instance-profile": observed.profile,
        "api-key": observed.api_key,
    }
    found += [(kind, thing.name, "exists") for kind, thing in named.items() if thing is not None and thing.ours]
    found += [("agent-program", one.name, "exists") for one in observed.programs if one.ours]
    return [{"kind": kind, "name": name, "state": state} for kind, name, state in found]


def _probes(
    aws: Aws, settings: Settings, names: Names, record: Record | None, current: Instance | None, console: str
) -> tuple[list[Json], int | None]:
    """One look at each rung, up to the first that does not pass; and the tokens that the engine has generated."""
    if record is None or current is None:
        return [], None
    tokens = None
    running = Observation("passed" if current.state == "running" else "failed", current.state)
    seen: list[tuple[str, Observation]] = [("instance", running)]
    agent = AgentPhases(lambda: console, ignore)
    if running.state == "passed":
        seen.append((agent.name, agent.check()))
    if seen[-1][1].state == "passed" and len(seen) > 1:
        looks, tokens = _through_tunnel(aws, settings, names, record, current, agent)
        seen += looks
    return [{"rung": name, "state": look.state, "observation": look.text} for name, look in seen], tokens


def _through_tunnel(
    aws: Aws, settings: Settings, names: Names, record: Record, current: Instance, agent: AgentPhases
) -> tuple[list[tuple[str, Observation]], int | None]:
    try:
        target = ssh_target(settings, names, record, current, agent.facts.host_keys)
        session = connect(target, SSH_SECONDS)
    except (SshError, DeployerError) as error:
        text = f"{error.message}: {error.hint}" if error.hint else error.message
        return [("port", Observation("failed", text))], None
    with open_tunnel(session, record.endpoint.port) as tunnel:
        tls = record.endpoint.tls
        url = f"{'https' if tls else 'http'}://127.0.0.1:{tunnel.local_port}"
        client = EngineClient(
            lambda: url, api_key.read(aws, names), certificate=agent.facts.certificate if tls else None
        )
        probes: tuple[Probe, ...] = (EngineHealth(client), ModelListed(client, record.endpoint.alias))
        looks = [(probe.name, probe.check()) for probe in probes]
        tokens = client.generated_tokens() if all(look.state == "passed" for _, look in looks) else None
        client.close()
    if record.endpoint.expose != "tunnel" and all(look.state == "passed" for _, look in looks):
        certificate = agent.facts.certificate if record.endpoint.tls else None
        looks.append(("outside", from_outside(aws, settings, names, record, current, certificate)))
    return looks, tokens
