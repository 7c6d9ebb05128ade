"""Which stacks may be swept: a table of what one can look like."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deployer.reconcile.census import Holdings, Thing
from deployer.reconcile.holder import Holder
from deployer.reconcile.lease import Hold
from deployer.reconcile.orphans import GRACE_SECONDS, orphans, verdict
from deployer.reconcile.record import Record

NOW = 1_800_000_000.0
LONG_AGO = NOW - 86_400
RECORD = Record("demo", "cn-northwest-1", "uid", 1, 1, "d", "l", "ready", LONG_AGO, None)
INSTANCE = Thing("instance", "i-1", LONG_AGO, "running", "g5.xlarge", "on-demand")
GROUP = Thing("security-group", "sg-1")
NOBODY = Holder("u", "h", 1, "s", "m", "n")


def holdings(*things: Thing, record: Record | None = None, lease: float | None = None, unreadable=False) -> Holdings:
    hold = None if lease is None else Hold(1, NOBODY, LONG_AGO, lease)
    return Holdings("demo", list(things), record, has_record=record is not None or unreadable, lease=hold)


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (holdings(INSTANCE, GROUP, record=RECORD), None),
        (holdings(INSTANCE, record=replace(RECORD, phase="failed")), None),
        (holdings(INSTANCE, record=replace(RECORD, expires_at=NOW + 1)), None),
        (holdings(INSTANCE, record=replace(RECORD, expires_at=NOW - 1)), "is over its time to live"),
        (holdings(replace(INSTANCE, expires_at=NOW - 1)), "is over its time to live"),
        # Extended: the record knows a later end than the tag.
        (holdings(replace(INSTANCE, expires_at=NOW - 1), record=replace(RECORD, expires_at=NOW + 60)), None),
        (holdings(INSTANCE), "has no record"),
        (holdings(replace(INSTANCE, since=NOW - GRACE_SECONDS + 1)), None),
        (holdings(GROUP), "has no record"),
        (holdings(lease=NOW - 1), "has only an expired lease"),
        (holdings(GROUP, lease=NOW + 1), None),
        (holdings(INSTANCE, record=replace(RECORD, expires_at=NOW - 1), lease=NOW + 1), None),
        (holdings(GROUP, record=RECORD), "lost its instance"),
        (holdings(GROUP, record=replace(RECORD, phase="creating")), "was made half and has no instance"),
        (holdings(GROUP, record=replace(RECORD, phase="no-capacity")), "was made half and has no instance"),
        (holdings(GROUP, record=replace(RECORD, phase="creating", unsettled_at=NOW - 5)), None),
        (holdings(INSTANCE, record=replace(RECORD, phase="deleting")), "was not deleted to its end"),
        (holdings(INSTANCE, unreadable=True), None),
        (holdings(GROUP, unreadable=True), "has a record that cannot be read, and no instance"),
    ],
)
def test_verdicts(one: Holdings, why: str | None) -> None:
    assert verdict(one, NOW) == why


def test_older_than_counts_from_the_oldest_thing_and_unknown_age_counts_as_old() -> None:
    old = holdings(INSTANCE)
    young = Holdings("young", [replace(INSTANCE, since=NOW - 3600)])
    ageless = Holdings("ageless", [GROUP])
    found = orphans([young, old, ageless], NOW, older_than=7200)
    assert [(one.stack, one.since) for one in found] == [("ageless", 0.0), ("demo", LONG_AGO)]
