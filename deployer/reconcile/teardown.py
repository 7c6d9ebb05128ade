"""`down`: everything of one stack, found by record and tags, deleted in reverse order, looked for again until gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from deployer.aws import errors
from deployer.aws.resources import agent_program, api_key, instance, instance_profile, key_pair, leftover, role
from deployer.aws.resources.agent_program import AgentProgram
from deployer.aws.resources.leftover import Leftover
from deployer.aws.waiting import FRESH_SECONDS, Look, wait_until
from deployer.errors import AwsError, TeardownIncomplete
from deployer.events import Event
from deployer.reconcile import parallel, steps
from deployer.reconcile import record as records
from deployer.reconcile.after import delete_group
from deployer.reconcile.blind import end_what_is_billed
from deployer.reconcile.ending import launch_shows, wait_for_launch, wait_terminated
from deployer.reconcile.observe import Observed, observe
from deployer.reconcile.operation import Operation
from deployer.reconcile.record import Record
from deployer.render.program import part_names, program
from deployer.targets.base import Step

#: Refusals that may not be repeated a moment later.
_PASSING = frozenset({"dependency", "consistency", "throttle", "network", "not_found"})
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
        found = [f"instance {one}" for one in self.instance_ids()]
        found += [f"{one.kind} {one.id}" for one in self.leftovers]
        found += [f"security-group {group.id}" for group in seen.groups if group.ours]
        found += [f"{kind} {thing.name}" for kind, thing in _named(seen) if thing is not None and thing.ours]
        return found

    def instance_ids(self) -> list[str]:
        """Our instances that are not terminated."""
        return [one.id for one in self.observed.instances if one.ours and one.state != "terminated"]


@dataclass
class _Work:
    """One teardown. deleted keeps the order. problems are refusals: the rest is deleted all the same."""

    op: Operation
    record: Record | None
    deleted: dict[str, None] = field(default_factory=dict)
    problems: list[AwsError] = field(default_factory=list)

    def delete(self, kind: str, name: str, act: Callable[[], object]) -> None:
        """Run one deletion; it is told once, however often it takes. name: several are separated by a comma."""

        def run() -> None:
            act()

        try:
            if all(f"{kind} {one}" in self.deleted for one in name.split(", ")):
                run()
                return
            steps.run(Step("delete", kind, name, "down"), run, clock=self.op.clock, emit=self.op.emit)
        except AwsError as error:
            self.problems.append(error)
        else:
            self.deleted.update({f"{kind} {one}": None for one in name.split(", ")})


def look(op: Operation) -> Seen:
    """Everything of the stack that AWS shows now."""
    observed, more = observe(op.aws, op.names, leftovers=lambda: leftover.observe(op.aws, op.names.stack))
    return Seen(observed, tuple(more["leftovers"]))


def tear_down(op: Operation) -> tuple[str, ...]:
    """Delete it all, the record last. Returns `kind name` of what was deleted, empty when there was nothing.

    Raises TeardownIncomplete with what remains.
    """
    try:
        seen = look(op)
    except AwsError as error:
        if errors.meaning(error.aws_code) != "permission":
            raise
        raise end_what_is_billed(op, error) from error
    _warn_of_strangers(op, seen.observed)
    record = seen.observed.record
    if record is None and not seen.ours():
        return ()
    work = _Work(op, record)
    if record is not None and record.phase != "deleting":
        _mark_deleting(work, record)
    if record is not None and record.intent is not None and not launch_shows(record, seen.observed):
        # First of all: an instance that shows late would hold everything that it uses.
        wait_for_launch(op, record.intent)
        seen = look(op)
    _delete_all(work, seen)
    remaining = _until_nothing_is_left(work, seen)
    if record is not None and not remaining:
        work.delete("stack-record", op.names.record, lambda: records.delete(op.aws, op.names))
        name = f"stack-record {op.names.record}"
        remaining = [] if name in work.deleted else [name]
    if remaining:
        raise _incomplete(work, remaining)
    return tuple(work.deleted)


def _mark_deleting(work: _Work, record: Record) -> None:
    """Say in the record that it goes away; what costs money must go also when that cannot be written."""
    try:
        work.record = work.op.write(replace(record, phase="deleting"))
    except AwsError as error:
        work.op.emit(Event("warning", {"message": f"the record keeps its phase: {error.message}", "hint": error.hint}))


def _named(seen: Observed) -> list[tuple[str, Any]]:
    programs = [("agent-program", one) for one in seen.programs]
    return [
        ("instance-profile", seen.profile),
        ("role", seen.role),
        ("key-pair", seen.key_pair),
        ("api-key", seen.api_key),
        *programs,
    ]


def _warn_of_strangers(op: Operation, seen: Observed) -> None:
    strangers = [(f"security-group {group.id}", group.name) for group in seen.groups if not group.ours]
    strangers += [(kind, thing.name) for kind, thing in _named(seen) if thing is not None and not thing.ours]
    for kind, name in strangers:
        text = f"{kind} named {name} does not carry our tag: it is not ours and is left alone"
        op.emit(Event("warning", {"message": text, "hint": None}))


def _delete_all(work: _Work, seen: Seen) -> None:
    """Instances first. While they shut down goes what they do not need any more; the groups they use go last."""
    op, observed = work.op, seen.observed
    launched_at = work.record.launched_at if work.record else 0.0
    ids = sorted({*seen.instance_ids(), *_not_shown_yet(work, observed)})
    tasks: dict[str, Callable[[], None]] = {"identity": lambda: _delete_identity(work, observed)}
    if ids:
        op.lease.check()
        try:
            instance.terminate(op.aws, ids)
        except AwsError as error:
            # An instance that may not be ended still needs its role and its key.
            work.problems.append(error)
            return
        names = ", ".join(ids)
        tasks["instance"] = lambda: work.delete(
            "instance", names, lambda: wait_terminated(op, ids, launched_at=launched_at)
        )
    if observed.key_pair is not None and observed.key_pair.ours:
        tasks["key-pair"] = lambda: work.delete(
            "key-pair", op.names.key_pair, lambda: key_pair.delete(op.aws, op.names)
        )
    if observed.api_key is not None and observed.api_key.ours:
        tasks["api-key"] = lambda: work.delete("api-key", op.names.api_key, lambda: api_key.delete(op.aws, op.names))
    for stored in observed.programs:
        if stored.ours:
            tasks[stored.name] = lambda stored=stored: work.delete(  # type: ignore[misc]
                "agent-program", stored.name, lambda: agent_program.delete(op.aws, stored.parts)
            )
    parallel.gather(tasks)
    for one in seen.leftovers:
        if one.free:
            work.delete(one.kind, one.id, lambda one=one: leftover.delete(op.aws, one))  # type: ignore[misc]
    for group in observed.groups:
        if group.ours:
            work.delete("security-group", group.id, lambda group=group: delete_group(op, group.id))  # type: ignore[misc]


def _delete_identity(work: _Work, seen: Observed) -> None:
    """The profile before the role: a role inside a profile cannot be deleted."""
    op, profile, ours = work.op, seen.profile, seen.role
    if profile is not None and profile.ours:
        roles = profile.roles
        work.delete("instance-profile", profile.name, lambda: instance_profile.delete(op.aws, op.names, roles))
    if ours is not None and ours.ours:
        work.delete("role", ours.name, lambda: role.delete(op.aws, op.names))


def _not_shown_yet(work: _Work, seen: Observed) -> set[str]:
    """The recorded instance, when AWS does not show it only because it is fresh."""
    record = work.record
    recorded = record.ids.get("instance") if record else None
    if record is None or recorded is None or any(one.id == recorded for one in seen.instances):
        return set()
    return {recorded} if work.op.clock.now() < record.launched_at + FRESH_SECONDS else set()


def _until_nothing_is_left(work: _Work, first: Seen) -> list[str]:
    """Look and delete again: deleted things may linger, made ones may show late, volumes may outlive instances."""
    op = work.op
    complete = _complete(op.names.programs, first.observed, work.record)
    last: list[str] = []

    def check() -> Look[None]:
        seen = look(op)
        last[:] = seen.ours()
        if any(errors.meaning(problem.aws_code) not in _PASSING for problem in work.problems):
            return Look(", ".join(last), done=True)
        if last:
            work.problems.clear()
            _delete_all(work, seen)
            return Look(", ".join(last))
        unsettled = work.record.unsettled_at if work.record else 0.0
        late = not complete and op.clock.now() < unsettled + FRESH_SECONDS
        return Look("nothing, but what the interrupted `up` made may show late", done=not late)

    wait_until(
        check,
        clock=op.clock,
        deadline_seconds=LINGER_SECONDS,
        what="nothing of the stack is left",
        emit=op.emit,
        keep_alive=op.lease.check,
        timeout=lambda _text: _incomplete(work, last),
    )
    return last


def _complete(programs: str, seen: Observed, record: Record | None) -> bool:
    """Whether everything that the last `up` has begun to make was there to see, so that nothing can show late.

    An instance can only be hidden behind an intent; without one it is in the record's ids, or was never launched.
    """
    if record is None or not launch_shows(record, seen):
        return False
    shown = {"instance-profile": seen.profile, "role": seen.role, "key-pair": seen.key_pair, "api-key": seen.api_key}
    kinds = {kind for kind, thing in shown.items() if thing is not None}
    if any(group.ours for group in seen.groups):
        kinds.add("security-group")
    if seen.programs and not any(_is_cut(programs, one) for one in seen.programs):
        kinds.add("agent-program")
    return kinds.issuperset(record.unsure)


def _is_cut(path: str, stored: AgentProgram) -> bool:
    """Whether parts of today's program do not show: another version's may be more or fewer."""
    return stored.mark == program().mark and not part_names(path, program()).keys() <= stored.parts.keys()


def _incomplete(work: _Work, remaining: list[str]) -> TeardownIncomplete:
    why = "".join(f"\n  {error.message}" for error in work.problems)
    hint = work.problems[0].hint if work.problems else None
    return TeardownIncomplete(
        f"still there of stack {work.op.names.stack}: {', '.join(remaining)}{why}",
        where=work.op.names.stack,
        hint=hint or "run `deployer down` again; it goes on where it stopped",
    )
