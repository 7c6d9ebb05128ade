"""An account with things of others in it, an operator there, and one verb to run on it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from deployer.aws.session import connect
from deployer.clock import Clock
from deployer.rehearsal.cloud import REGION, Cloud
from deployer.settings import Settings
from deployer.targets.sweeping import Sweeper
from tests.cloud.conftest import INSTANT
from tests.cloud.ec2.support import HastyClock, Operator, environment
from tests.crash.account import furnish, ours, snapshot

Verb = Literal["up", "down", "change", "extend", "sweep"]
VERBS: tuple[Verb, ...] = get_args(Verb)
#: What a call that only looks is called.
READING = ("Describe", "Get", "List", "Batch")
#: A lease whose giving back was never answered looks held by this very process, and runs out.
LEASE_SECONDS = 120.0
#: Longer than any stack of these tests may live.
_YEAR_SECONDS = 365 * 86400.0


class Ahead:
    """Another clock, some seconds ahead."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock, self._seconds = clock, seconds

    def now(self) -> float:
        return self._clock.now() + self._seconds

    def monotonic(self) -> float:
        return self._clock.monotonic() + self._seconds

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)


class Account:
    """Ready for the verb: for all but `up` the stack is up."""

    def __init__(self, cloud: Cloud, home: Path, verb: Verb, clock: Clock | None = None) -> None:
        self.cloud = cloud
        furnish(cloud.url)
        self.before = snapshot(cloud.url)
        settings = Settings.from_env(environment(cloud.url, home))
        self.operator = Operator(cloud, settings, clock=clock or HastyClock())
        self._verb = verb
        if verb != "up":
            self.operator.up()

    def connect(self) -> None:
        """A new connection, whose pauses are on the operator's clock and told among its events."""
        one = self.operator
        one.aws = connect(REGION, one.settings, clock=one.clock, emit=one.events.append)

    def act(self) -> None:
        """The verb. Raises DeployerError."""
        target = self.operator.target(lock_wait_seconds=LEASE_SECONDS)
        match self._verb:
            case "up":
                target.up(self.operator.deployment())
            case "change":
                target.up(self.operator.deployment(context=8192))
            case "down":
                target.down("demo")
            case "extend":
                target.extend("demo", by=3600.0, until=None)
            case "sweep":
                sweeper = self.sweeper()
                failed = sweeper.sweep(sweeper.find()).failed
                if failed:
                    raise failed[0]

    def sweeper(self) -> Sweeper:
        """One that comes long after every stack is over."""
        one = self.operator
        made = Sweeper(one.settings, REGION, Ahead(one.clock, _YEAR_SECONDS), one.events.append)
        one.target()
        made._target._connected = one.aws
        return made

    def problem(self) -> str | None:
        """What is wrong once the verb has been repeated and the stack taken down."""
        if self._verb in ("up", "change"):
            self.act()
            if (count := ours(self.cloud)) != 1:
                return f"{count} instances"
            self.operator.events.clear()
            self.act()
            if changed := self.operator.named("step.done"):
                return f"a second run still changed {[step['name'] for step in changed]}"
        elif self._verb == "extend":
            self.act()
            if (count := ours(self.cloud)) != 1:
                return f"{count} instances"
        self.operator.target(lock_wait_seconds=LEASE_SECONDS).down("demo")
        self.cloud.world.options = INSTANT
        return None if snapshot(self.cloud.url) == self.before else f"left or changed: {self.cloud.status()}"
