"""`sweep` of one region: find what nobody looks after, and take it away as `down` does, one stack after another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deployer.catalog.prices import Price
from deployer.clock import Clock
from deployer.errors import DeployerError, LockedError
from deployer.events import Emit, Event, Json
from deployer.reconcile.orphans import Orphan, orphans
from deployer.settings import Settings

if TYPE_CHECKING:
    from deployer.targets.ec2 import Ec2Target


@dataclass(frozen=True)
class Looked:
    """found: a region's sweeper and what it found. unseen: why other regions could not be looked at."""

    found: tuple[tuple[Sweeper, list[Orphan]], ...]
    unseen: tuple[DeployerError, ...]


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

    def hourly(self, found: Iterable[Orphan]) -> dict[str, Price | None]:
        """Instance type -> what an hour of it costs on demand, None when unknown; each is asked for once."""
        types = {one.instance_type for orphan in found for one in orphan.instances if one.instance_type}
        return {each: self._target.price(each) for each in sorted(types)}

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


def look_everywhere(sweepers: Iterable[Sweeper], older_than: float, emit: Emit) -> Looked:
    """Every region's orphans. A region that cannot be looked at is told and keeps no other from being looked at."""
    found: list[tuple[Sweeper, list[Orphan]]] = []
    unseen: list[DeployerError] = []
    for sweeper in sweepers:
        try:
            found.append((sweeper, sweeper.find(older_than=older_than)))
        except DeployerError as error:
            unseen.append(error)
            message = f"{sweeper.region} was not looked at: {error.message}"
            emit(Event("warning", {"message": message, "hint": error.hint}))
    return Looked(tuple(found), tuple(unseen))


def document(region: str, found: Iterable[Orphan], now: float, prices: Mapping[str, Price | None]) -> list[Json]:
    """The orphans as `sweep --json` lists them. Ages in seconds, per_hour of all its running instances on demand; null
    when unknown. prices: of each instance type."""
    return [
        {
            "stack": one.stack,
            "region": region,
            "why": one.why,
            "age_seconds": round(now - one.since, 1) if one.since else None,
            **_per_hour(one, prices),
            "instances": [{"id": each.id, "type": each.instance_type, "state": each.state} for each in one.instances],
            "resources": [{"kind": each.kind, "id": each.id} for each in one.things],
        }
        for one in found
    ]


def _per_hour(orphan: Orphan, prices: Mapping[str, Price | None]) -> dict[str, Json]:
    running = [one for one in orphan.instances if one.state not in ("stopped", "terminated")]
    known = [prices.get(one.instance_type or "") for one in running]
    if not running:
        return {"per_hour": 0.0, "currency": None}
    if not all(known):
        return {"per_hour": None, "currency": None}
    costs = [price for price in known if price is not None]
    return {"per_hour": round(sum(price.per_hour for price in costs), 4), "currency": costs[0].currency}
