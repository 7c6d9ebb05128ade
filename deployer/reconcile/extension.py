"""A later end for a stack that has one: in the record first, where the instance looks before it ends itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

from deployer.aws import tags
from deployer.aws.resources import agent_program, key_pair, leftover, user_tags
from deployer.errors import RefusedError
from deployer.reconcile.observe import Observed, observe
from deployer.reconcile.operation import Operation

#: An instance whose timer may ring while this is written would end all the same.
TOO_LATE_SECONDS = 30.0


@dataclass(frozen=True)
class Extended:
    """Times in seconds since the epoch. expires_at, before: the end now and until now, None without `lifetime.ttl`.

    keep_until: before that nobody has to ask anything to keep it, None without `lifetime.idle`.
    """

    stack: str
    before: float | None
    expires_at: float | None
    keep_until: float | None


def extend(op: Operation, *, by: float | None, until: float | None) -> Extended:
    """Move the end `by` seconds, or to `until`, on the record and on everything's tags; so long idleness ends nothing.

    Raises RefusedError: there is no such stack, nothing of it runs, it has no end, the end is over or would be earlier.
    Cut off in between, the record counts; the same command again puts the tags right.
    """
    stack = op.names.stack
    observed, _ = observe(op.aws, op.names)
    record = observed.record
    if record is None:
        raise RefusedError(f"there is no stack {stack} in {op.aws.region}", hint="deployer ls shows what is")
    if not observed.live:
        raise RefusedError(f"no instance of stack {stack} runs", where=stack, hint="deployer up SPEC launches one")
    if record.expires_at is None and record.idle is None:
        raise RefusedError(
            f"stack {stack} has no end: it runs until `deployer down {stack}`",
            where=stack,
            hint="lifetime.ttl and lifetime.idle in the spec give it one; that is a new instance",
        )
    now = op.clock.now()
    if record.expires_at is not None and record.expires_at - now < TOO_LATE_SECONDS:
        raise RefusedError(f"stack {stack} is at its end already", where=stack, hint="deployer up SPEC launches anew")
    before, end, keep = record.expires_at, None, None
    if before is not None:
        end = _later(stack, before, until or before + (by or 0.0), now)
    if record.idle is not None:
        wanted = until or now + (by or 0.0)
        keep = max(record.keep_until, wanted) if end else _later(stack, record.keep_until, wanted, now)
    op.write(replace(record, expires_at=end, keep_until=keep or 0.0))
    if end is not None:
        _tag(op, observed, end)
    return Extended(stack, before, end, keep)


def _later(stack: str, before: float, end: float, now: float) -> float:
    """The later end. Raises RefusedError when it is none."""
    if end <= max(before, now):
        raise RefusedError(
            f"that is no later than the end stack {stack} has",
            where=stack,
            hint=f"a later time, or `deployer down {stack}` to end it now",
        )
    return end


def _tag(op: Operation, observed: Observed, end: float) -> None:
    stack = op.names.stack
    shown = tags.TagSet(stack, 0, "", end).as_dict()[tags.EXPIRES_AT]
    pair = key_pair.observe(op.aws, op.names)
    parts = [one.id for one in leftover.observe(op.aws, stack)]
    groups = [group.id for group in observed.groups if group.ours]
    ids = [*(one.id for one in observed.live), *parts, *groups, *([pair.id] if pair and pair.ours else [])]
    parameters = [part for one in agent_program.observe(op.aws, op.names) if one.ours for part in one.parts]
    user_tags.put(op.aws, op.names, ids, parameters, {tags.EXPIRES_AT: shown})
