"""What somebody changed behind our back, as far as it shows without the spec; `plan SPEC` compares every field."""

from __future__ import annotations

from collections.abc import Iterator

from deployer.aws.resources.instance import Instance
from deployer.reconcile.observe import Observed
from deployer.reconcile.record import Record


def drift_of(record: Record, observed: Observed, current: Instance | None) -> Iterator[str]:
    """One sentence for each thing that is not as `up` left it; `up` repairs them all. Nothing before it was ready."""
    if record.phase != "ready":
        return
    wanted = record.ids.get("instance")
    if wanted is not None and (current is None or current.id != wanted or not current.live):
        why = current.reason if current is not None and current.id == wanted else None
        yield f"instance {wanted} has ended" + (f": {why}" if why else "")
    elif current is not None and current.interrupted:
        yield f"AWS takes instance {current.id} back (spot interruption)"
    elif current is not None and current.state in ("stopping", "stopped"):
        yield f"instance {current.id} is {current.state}"
    if current is not None and not current.ours:
        yield f"instance {current.id} has lost its deployer:stack tag"
    named = {
        "key-pair": observed.key_pair,
        "role": observed.role,
        "instance-profile": observed.profile,
        "api-key": observed.api_key,
    }
    for kind, thing in named.items():
        if thing is None:
            yield f"{kind} is gone"
        elif not thing.ours:
            yield f"{kind} {thing.name} has lost its deployer:stack tag"
    yield from _rules(record, observed)


def _rules(record: Record, observed: Observed) -> Iterator[str]:
    """Ports of our own security group, which cannot be gone while an instance has it; another is the user's affair."""
    wanted = {record.access.port} | ({record.endpoint.port} if record.endpoint.expose != "tunnel" else set())
    groups = [group for group in observed.groups if group.ours]
    for group in groups:
        for port in sorted(wanted - {rule.port for rule in group.rules}):
            yield f"security group {group.id} admits nobody on port {port}"
        for rule in sorted(map(str, (rule for rule in group.rules if rule.port not in wanted))):
            yield f"security group {group.id} has a rule that is not ours: {rule}"
        for other in group.strange:
            yield f"security group {group.id} has a rule that is not ours: {other}"
