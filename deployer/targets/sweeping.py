"""`sweep` of one region: find what nobody looks after, and take it away as `down` does, one stack after another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deployer.clock import Clock
from deployer.errors import DeployerError, LockedError
from deployer.events import Emit, Event, Json
from deployer.reconcile.orphans import Orphan, orphans
from deployer.settings import Settings

if TYPE_CHECKING:
    from deployer.targets.ec2 import Ec2Target


@dataclass(frozen=True)
class Swept:
    """deleted: stacks that are gone. kept: somebody looks after them again, with the reason. failed: why not."""

    deleted: tuple[str, ...]
    kept: tuple[str, ...]
    failed: tuple[DeployerError, ...]


class Sweeper:
    """One region."""

    def __init__(self, settings: Settings, region: str, clock: Clock, emit: Emit) -> None:
        from deployer.targets.ec2 import Ec2Target

        self.region = region
        self._clock = clock
        self._emit = emit
        self._target: Ec2Target = Ec2Target(settings, region, clock, emit)

    def find(self, *, older_than: float = 0.0) -> list[Orphan]:
        """The orphans as they are now. Raises a DeployerError when not everything may be looked at."""
        return orphans(self._target.census().values(), self._clock.now(), older_than=older_than)

    def sweep(self, found: Iterable[Orphan]) -> Swept:
        """Take them away. Each is looked at again first: it may have been taken up since it was found."""
        deleted: list[str] = []
        kept: list[str] = []
        failed: list[DeployerError] = []
        for orphan in found:
            try:
                if all(now.stack != orphan.stack for now in self.find()):
                    kept.append(orphan.stack)
                    self._say(orphan.stack, "it is looked after again or gone")
                    continue
                self._target.down(orphan.stack)
                deleted.append(orphan.stack)
            except LockedError as error:
                kept.append(orphan.stack)
                self._say(orphan.stack, error.message)
            except DeployerError as error:
                failed.append(error)
        return Swept(tuple(deleted), tuple(kept), tuple(failed))

    def _say(self, stack: str, why: str) -> None:
        self._emit(Event("warning", {"message": f"{stack} is left alone: {why}", "hint": None}))


def document(region: str, found: Iterable[Orphan], now: float) -> list[Json]:
    """The orphans as `sweep --json` lists them. Ages in seconds, null when unknown."""
    return [
        {
            "stack": one.stack,
            "region": region,
            "why": one.why,
            "age_seconds": round(now - one.since, 1) if one.since else None,
            "instances": [{"id": each.id, "type": each.instance_type, "state": each.state} for each in one.instances],
            "resources": [{"kind": each.kind, "id": each.id} for each in one.things],
        }
        for one in found
    ]
