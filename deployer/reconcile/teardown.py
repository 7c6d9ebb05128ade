"""`down`: everything of one stack, found by record and tags, deleted in reverse order, looked for again until gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from deployer.aws.resources import api_key, instance, instance_profile, key_pair, leftover, role
from deployer.aws.resources.instance import Instance
from deployer.aws.resources.leftover import Leftover
from deployer.aws.waiting import FRESH_SECONDS, Look, wait_until
from deployer.errors import AwsError, TeardownIncomplete
from deployer.events import Event
from deployer.reconcile import parallel, steps
from deployer.reconcile import record as records
from deployer.reconcile.after import delete_group
from deployer.reconcile.ending import outcome_of, wait_terminated
from deployer.reconcile.observe import Observed, observe
from deployer.reconcile.operation import Operation
from deployer.targets.base import Step

#: How long deleted things may still show before they count as remaining.
LINGER_SECONDS = 120.0


@dataclass(frozen=True)
class Seen:
    """Everything of ours at one moment."""

    observed: Observed
    leftovers: tuple[Leftover, ...]

    def ours(self) -> list[str]:
        """`kind name` of each thing of ours that still exists, the record not counted."""
        seen = self.observed
        found = [f"instance {one.id}" for one in seen.instances if one.ours and one.state != "terminated"]
        found += [f"{one.kind} {one.id}" for one in self.leftovers]
        found += [f"security-group {group.id}" for group in seen.groups if group.ours]
        found += [f"{kind} {thing.name}" for kind, thing in _named(seen) if thing is not None and thing.ours]
        return found


@dataclass
class _Problems:
    """Refusals met on the way: the rest is deleted all the same."""

    found: list[AwsError] = field(default_factory=list)

    def guard(self, act: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            try:
                act()
            except AwsError as error:
                self.found.append(error)

        return run


def look(op: Operation) -> Seen:
    """Everything of the stack that AWS shows now."""
    observed, more = observe(op.aws, op.names, leftovers=lambda: leftover.observe(op.aws, op.names.stack))
    return Seen(observed, tuple(more["leftovers"]))


def tear_down(op: Operation) -> tuple[str, ...]:
    """Delete it all, the record last. Returns `kind name` of what was deleted, empty when there was nothing.

    Raises TeardownIncomplete with what remains.
    """
    seen = look(op)
    _warn_of_strangers(op, seen.observed)
    record = seen.observed.record
    found = seen.ours()
    if record is None and not found:
        return ()
    if record is not None and record.phase != "deleting":
        record = op.write(replace(record, phase="deleting"))
    ids = _instances_to_end(op, seen.observed)
    found += [f"instance {one}" for one in ids if f"instance {one}" not in found]
    problems = _Problems()
    problems.guard(lambda: _end(op, ids, record.launched_at if record else 0.0, seen.observed, problems))()
    for group in seen.observed.groups:
        if group.ours:
            _delete(op, problems, "security-group", group.id, lambda group=group: delete_group(op, group.id))  # type: ignore[misc]
    remaining = _until_nothing_is_left(op, problems)
    if remaining:
        raise _incomplete(op, remaining, problems)
    if record is not None:
        _delete(op, problems, "stack-record", op.names.record, lambda: records.delete(op.aws, op.names))
        if problems.found:
            raise _incomplete(op, [f"stack-record {op.names.record}"], problems)
        found.append(f"stack-record {op.names.record}")
    return tuple(found)


def _named(seen: Observed) -> list[tuple[str, Any]]:
    return [
        ("instance-profile", seen.profile),
        ("role", seen.role),
        ("key-pair", seen.key_pair),
        ("api-key", seen.api_key),
    ]


def _warn_of_strangers(op: Operation, seen: Observed) -> None:
    strangers = [(f"security-group {group.id}", group.name) for group in seen.groups if not group.ours]
    strangers += [(kind, thing.name) for kind, thing in _named(seen) if thing is not None and not thing.ours]
    for kind, name in strangers:
        text = f"{kind} named {name} does not carry our tag: it is not ours and is left alone"
        op.emit(Event("warning", {"message": text, "hint": None}))


def _instances_to_end(op: Operation, seen: Observed) -> list[str]:
    """By tag, by record, and by a launch that was begun and whose outcome nobody wrote down."""
    ids = {one.id for one in seen.instances if one.ours and one.state != "terminated"}
    record = seen.record
    if record is None:
        return sorted(ids)
    shown = {one.id for one in seen.instances}
    recorded = record.ids.get("instance")
    if recorded is not None and recorded not in shown and op.clock.now() < record.launched_at + FRESH_SECONDS:
        ids.add(recorded)
    if record.intent is not None:
        mark = instance.launch_mark(record.intent.token)
        if not any(one.launch == mark for one in seen.instances):
            made: Instance | None = outcome_of(op, record.intent)
            if made is not None and made.ours and made.state != "terminated":
                ids.add(made.id)
    return sorted(ids)


def _end(op: Operation, ids: list[str], launched_at: float, seen: Observed, problems: _Problems) -> None:
    """Instances first. While they shut down, what they do not need any more goes at the same time."""
    op.lease.check()
    instance.terminate(op.aws, ids)

    def wait() -> None:
        wait_terminated(op, ids, launched_at=launched_at)

    tasks: dict[str, Callable[[], None]] = {}
    if ids:
        tasks["instance"] = lambda: _delete(op, problems, "instance", ", ".join(ids), wait)
    if seen.key_pair is not None and seen.key_pair.ours:
        tasks["key-pair"] = lambda: _delete(
            op, problems, "key-pair", op.names.key_pair, lambda: key_pair.delete(op.aws, op.names)
        )
    if seen.api_key is not None and seen.api_key.ours:
        tasks["api-key"] = lambda: _delete(
            op, problems, "api-key", op.names.api_key, lambda: api_key.delete(op.aws, op.names)
        )
    tasks["identity"] = lambda: _delete_identity(op, seen, problems)
    parallel.gather(tasks)


def _delete_identity(op: Operation, seen: Observed, problems: _Problems) -> None:
    """The profile before the role: a role inside a profile cannot be deleted."""
    profile, ours = seen.profile, seen.role
    if profile is not None and profile.ours:
        _delete(
            op,
            problems,
            "instance-profile",
            profile.name,
            lambda: instance_profile.delete(op.aws, op.names, profile.roles),
        )
    if ours is not None and ours.ours:
        _delete(op, problems, "role", ours.name, lambda: role.delete(op.aws, op.names))


def _delete(op: Operation, problems: _Problems, kind: str, name: str, act: Callable[[], object]) -> None:
    def run() -> None:
        act()

    step = Step("delete", kind, name, "down")
    problems.guard(lambda: steps.run(step, run, clock=op.clock, emit=op.emit))()


def _until_nothing_is_left(op: Operation, problems: _Problems) -> list[str]:
    """Look again: deleted things may linger, volumes and interfaces may have outlived their instance."""
    last: list[str] = []

    def check() -> Look[None]:
        seen = look(op)
        for one in seen.leftovers:
            if one.free:
                _delete(op, problems, one.kind, one.id, lambda one=one: leftover.delete(op.aws, one))  # type: ignore[misc]
        last[:] = seen.ours()
        return Look(", ".join(last) or "nothing", done=not last or bool(problems.found))

    wait_until(
        check,
        clock=op.clock,
        deadline_seconds=LINGER_SECONDS,
        what="nothing of the stack is left",
        emit=op.emit,
        keep_alive=op.lease.check,
        timeout=lambda text: _incomplete(op, last, problems),
    )
    return last


def _incomplete(op: Operation, remaining: list[str], problems: _Problems) -> TeardownIncomplete:
    why = "".join(f"\n  {error.message}" for error in problems.found)
    return TeardownIncomplete(
        f"still there of stack {op.names.stack}: {', '.join(remaining)}{why}",
        where=op.names.stack,
        hint=(problems.found[0].hint if problems.found else None)
        or "run `deployer down` again; it goes on where it stopped",
    )
