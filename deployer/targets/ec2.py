"""The EC2 target: one operator at a time brings a stack up, looks at it, takes it down. AWS is the state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from deployer.aws.names import Names
from deployer.clock import Clock
from deployer.decide.types import Deployment
from deployer.errors import (
    AwsError,
    BootstrapError,
    DeployerError,
    InterruptedByUser,
    NotHealthyError,
    RefusedError,
    TeardownIncomplete,
)
from deployer.events import Emit, Event
from deployer.settings import Settings
from deployer.spec.models import Ec2Stack
from deployer.targets.base import DownResult, Plan, Preflight, StackStatus, UpResult

if TYPE_CHECKING:
    from deployer.aws.session import Aws
    from deployer.catalog.prices import Price
    from deployer.decide.money import Spent
    from deployer.health.agent import AgentFacts
    from deployer.reconcile.census import Holdings
    from deployer.reconcile.extension import Extended
    from deployer.reconcile.operation import Operation
    from deployer.targets.ec2_access import Access
    from deployer.targets.logs import Logs
    from deployer.targets.rotation import Rotated
    from deployer.targets.tuning import Tuned

#: Asks whether what `converge` brought up serves, and what its agent told; raises when it does not.
Verify = Callable[["Operation", Deployment, str], "AgentFacts | None"]


def offline_plan(deployment: Deployment) -> Plan:
    """The plan for an account that knows nothing of the stack. Asks AWS nothing."""
    from deployer.reconcile.plan import from_nothing

    assert isinstance(deployment.spec, Ec2Stack)
    names = Names(deployment.spec.name, deployment.spec.region)
    return from_nothing(names, own_security_group=deployment.spec.network.security_group is None)


class Ec2Target:
    """Implements targets.base.Target for one region. AWS is first asked when it is first needed.

    lock_wait_seconds: how long to wait for another operator. verify: the health ladder, unless it is another.
    """

    def __init__(
        self,
        settings: Settings,
        region: str,
        clock: Clock,
        emit: Emit,
        *,
        lock_wait_seconds: float = 0.0,
        verify: Verify | None = None,
    ) -> None:
        self._settings = settings
        self._region = region
        self._clock = clock
        self._emit = emit
        self._lock_wait_seconds = lock_wait_seconds
        self._verify = verify
        self._connected: Aws | None = None

    def resolved(self, deployment: Deployment) -> Deployment:
        """With what only the account can tell: the container image. Raises RefusedError when there is none."""
        from deployer.reconcile.engine_image import needs_image, with_image

        if not needs_image(deployment):
            return deployment
        with _for_people():
            return with_image(self._aws(), deployment)

    def plan(self, deployment: Deployment) -> Plan:
        """What `up` would do now. Changes nothing, in AWS or here. Raises RefusedError when `up` would be refused."""
        from deployer.reconcile import plan as plans
        from deployer.reconcile.looking import look

        deployment = self.resolved(deployment)
        with _for_people():
            seen = look(self._aws(), self._settings, deployment, make_key=False)
            return plans.make(seen.desired, seen.observed)

    def preflight(self, deployment: Deployment) -> Preflight:
        """Live prices and every check of the stack. Asks and changes nothing; what cannot be asked is `unknown`."""
        from deployer.aws import prices
        from deployer.aws.preflight import stack_checks
        from deployer.decide.checks import Check
        from deployer.reconcile import record as records

        known: tuple[Price, ...] = ()
        with _for_people():
            unpriced: tuple[Check, ...] = ()
            try:
                known = prices.live(self._aws(), deployment.hardware.name)
            except AwsError as error:
                why = f"live prices unknown, dated ones instead: {error.message}"
                unpriced = (Check("prices", "warn", why, "allow pricing:GetProducts"),)
            record = records.read(self._aws(), Names(deployment.spec.name, self._region))
            checks = (*stack_checks(self._aws(), deployment), *unpriced)
            return Preflight(known, checks, record.tuned if record else None)

    def up(self, deployment: Deployment) -> UpResult:
        """Converge, climb the health ladder, end what was replaced. A second one changes nothing.

        Raises any DeployerError; after one, `up` again goes on and `down` removes everything.
        """
        from deployer.decide.decide import refuse_if_unfit
        from deployer.reconcile.after import fall_back, settle
        from deployer.reconcile.converge import converge
        from deployer.reconcile.engine_image import tell
        from deployer.targets.ec2_failures import as_shown, with_way_out
        from deployer.targets.ec2_ladder import announce, climb_ladder
        from deployer.targets.measured import in_effect

        start = self._clock.monotonic()
        stack = deployment.spec.name
        refuse_if_unfit(deployment)
        decided, deployment = deployment, self.resolved(deployment)
        tell(decided, deployment, self._emit)
        with _for_people(), self._operation(stack, "up") as op:
            done = converge(op, deployment)
            try:
                facts = (self._verify or climb_ladder)(op, deployment, done.instance_id)
            except (BootstrapError, NotHealthyError) as error:
                fall_back(op, done)
                raise with_way_out(error, stack, done.instance_id, stays=not done.serving) from error
            except (AwsError, RefusedError) as error:
                if done.serving and isinstance(as_shown(error), RefusedError):
                    # Nobody may ask whether the new one serves: two that are billed are one too many.
                    with suppress(DeployerError):
                        fall_back(op, done)
                raise
            record = settle(op, done, in_effect(done.record.tuned, facts, self._emit))
            url = announce(op, record)
        result = UpResult(stack, done.plan.changes, url, done.instance_id, round(self._clock.monotonic() - start, 3))
        self._emit(Event("up.summary", vars(result)))
        return result

    def spent(self, stack: str) -> Spent | None:
        """An estimate of what the stack's instance has cost, and what it has generated; None without an instance."""
        from deployer.targets.spending import spent_by

        with _for_people():
            return spent_by(self._aws(), self._settings, stack, self._clock.now())

    def down(self, stack: str) -> DownResult:
        """Delete everything of the stack, from its name alone. Nothing there is fine.

        Raises TeardownIncomplete with what remains, LockedError while another operator works on it.
        """
        from deployer.reconcile.teardown import tear_down

        start = self._clock.monotonic()
        with _for_people(), self._operation(stack, "down") as op:
            deleted = tear_down(op)
        if op.lease.remains:
            raise TeardownIncomplete(
                f"still there of stack {stack}: {', '.join(op.lease.remains)}",
                where=stack,
                hint=f"allow ssm:DeleteParameter, then `deployer down {stack}` again",
            )
        result = DownResult(stack, deleted, (), round(self._clock.monotonic() - start, 3))
        self._emit(
            Event(
                "down.summary",
                {"stack": stack, "deleted": list(deleted), "remaining": [], "seconds": result.seconds},
            )
        )
        return result

    def status(self, stack: str) -> StackStatus:
        """One stack as it is now, without waiting for anything. Raises RefusedError when there is none."""
        from deployer.targets.ec2_status import status_of

        with _for_people():
            return status_of(self._aws(), self._settings, stack, self._clock.now())

    def list_stacks(self) -> list[StackStatus]:
        """Every stack of the region by name: those with a record, and those that only an instance's tag tells of."""
        from deployer.targets.ec2_status import every_stack

        with _for_people():
            return every_stack(self._aws(), self._emit, self._clock.now())

    def rotate_key(self, stack: str) -> Rotated:
        """A new API key, in SSM and in the engine. Raises RefusedError before any change when the stack is not up."""
        from deployer.targets.ec2_rotation import rotate

        with _for_people(), self._operation(stack, "key rotate") as op:
            return rotate(op)

    def tune(self, stack: str, *, measure_only: bool) -> Tuned:
        """MTP and threads as measured on the instance. Raises RefusedError before any change when it is not up."""
        from deployer.targets.ec2_tuning import tune_stack

        with _for_people(), self._operation(stack, "tune") as op:
            return tune_stack(op, measure_only=measure_only)

    def extend(self, stack: str, *, by: float | None, until: float | None) -> Extended:
        """A later end: by seconds, or until a time. Raises RefusedError when it has none or that is no later."""
        from deployer.reconcile.extension import extend

        with _for_people(), self._operation(stack, "extend") as op:
            return extend(op, by=by, until=until)

    def census(self) -> dict[str, Holdings]:
        """Stack -> everything of it in the region, also what no record tells of."""
        from deployer.reconcile.census import census

        with _for_people():
            return census(self._aws())

    def price(self, instance_type: str) -> Price | None:
        """What an hour of it costs on demand, live or from the dated file; None when unknown."""
        from deployer.targets.spending import price_of

        with _for_people():
            return price_of(self._aws(), instance_type, "on-demand")

    def open_access(self, stack: str) -> Access:
        """How to log in to a stack and which port serves there. Raises RefusedError when it is not up."""
        from deployer.targets.ec2_access import access_to

        with _for_people():
            return access_to(self._aws(), self._settings, stack)

    def open_logs(self, stack: str) -> Logs:
        """What the stack's instance has said, running or not. Raises RefusedError when there is none."""
        from deployer.targets.ec2_logs import logs_of

        with _for_people():
            return logs_of(self._aws(), self._settings, stack)

    def _aws(self) -> Aws:
        if self._connected is None:
            from deployer.aws.session import connect

            self._connected = connect(self._region, self._settings, clock=self._clock, emit=self._emit)
        return self._connected

    @contextmanager
    def _operation(self, stack: str, verb: str) -> Iterator[Operation]:
        """Hold the stack's lease; a failed `up` and a Ctrl-C say what exists and how to go on."""
        from deployer.reconcile.lease import Lease
        from deployer.reconcile.operation import Operation
        from deployer.targets.ec2_failures import what_exists, with_leftovers

        aws = self._aws()
        names = Names(stack, self._region)
        lease = Lease(
            aws,
            names,
            self._clock,
            self._emit,
            wait_seconds=self._lock_wait_seconds,
            # Nothing that only keeps the books may keep an instance alive.
            required=verb != "down",
        )
        op = Operation(aws, names, self._settings, self._clock, self._emit, lease)
        try:
            with lease:
                yield op
        except KeyboardInterrupt:
            raise InterruptedByUser(
                f"`{verb}` of stack {stack} was interrupted; {what_exists(op) or 'it has no record'}",
                hint=f"`deployer {verb}` again goes on, `deployer down {stack}` removes everything",
            ) from None
        except (AwsError, RefusedError) as error:
            if verb != "up":
                raise
            raise with_leftovers(error, op) from error


@contextmanager
def _for_people() -> Iterator[None]:
    """AWS's answers that nothing handled leave as the error that fits their meaning."""
    try:
        yield
    except AwsError as error:
        from deployer.targets.ec2_failures import as_shown

        shown = as_shown(error)
        if shown is error:
            raise
        raise shown from error
