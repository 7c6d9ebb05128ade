"""What was tried where, what AWS answered, and the errors that tell a person so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from deployer.aws import quotas
from deployer.aws.session import Aws
from deployer.catalog.types import Hardware
from deployer.errors import AwsError, CapacityError, QuotaError, RefusedError
from deployer.events import Json

#: AWS's codes for a launch beyond a vCPU quota. The first counts every running instance of a market, the other is what
#: a spot request gets.
VCPU_CODES = frozenset({"VcpuLimitExceeded", "MaxSpotInstanceCountExceeded"})
_TITLES = ("MARKET", "TYPE", "ZONE", "CODE", "REQUEST")


@dataclass(frozen=True)
class Attempt:
    """One place. outcome: skipped, refused or launched. aws_code, request_id: AWS's, when it was asked and refused."""

    market: str
    instance_type: str
    zone: str | None
    outcome: str
    aws_code: str | None = None
    message: str | None = None
    request_id: str | None = None

    def as_dict(self) -> dict[str, Json]:
        """The `attempt` event's fields, and one row of an error's `attempts`."""
        return asdict(self)

    @property
    def cells(self) -> tuple[str, ...]:
        """One row of the table."""
        code, request = self.aws_code or self.outcome, self.request_id or "-"
        return self.market, self.instance_type, self.zone or "-", code, request

    @property
    def answer(self) -> str:
        """What the table says below its rows, once for all rows of which it is true."""
        return f"{self.aws_code or f'{self.instance_type} {self.outcome}'}: {self.message}"


def refused(market: str, instance_type: str, zone: str, error: AwsError) -> Attempt:
    """The attempt that ended with AWS's error. Operation and code have their own places, so AWS's words go alone."""
    said = error.message.removeprefix(f"{error.operation}: {error.aws_code}: ")
    return Attempt(market, instance_type, zone, "refused", error.aws_code, said, error.request_id)


def table(attempts: Sequence[Attempt]) -> str:
    """Aligned rows, then every different answer once: AWS says the same of each zone, at length."""
    rows = [_TITLES, *(attempt.cells for attempt in attempts)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_TITLES))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    answers = dict.fromkeys(attempt.answer for attempt in attempts if attempt.message)
    return "\n".join(f"  {line}" for line in [*lines, *answers])


def nothing_anywhere(attempts: Sequence[Attempt], stack: str, region: str, left: str) -> CapacityError | RefusedError:
    """When no place was left to try. left: what there is of the stack, in words."""
    if all(attempt.outcome == "skipped" for attempt in attempts):
        return RefusedError(
            f"no allowed instance type can be launched in {region}:\n{table(attempts)}",
            where="instance.type",
            hint="choose another instance.type or add instance.fallbacks",
        )
    spot_only = all(attempt.market == "spot" for attempt in attempts)
    more = "set instance.market: spot-first, " if spot_only else ""
    return CapacityError(
        f"AWS has no capacity for stack {stack} now; {left}. Tried:\n{table(attempts)}",
        where="ec2:RunInstances",
        hint=f"{more}add instance.fallbacks or try later; `deployer down` removes the free rest (key, group, role)",
        attempts=[attempt.as_dict() for attempt in attempts],
    )


def beyond_quota(aws: Aws, error: AwsError, hardware: Hardware, attempts: Sequence[Attempt]) -> QuotaError:
    """The refusal that names the quota, its code and its value, as far as Service Quotas tells them."""
    market = attempts[-1].market
    quota = quotas.for_hardware(aws, hardware, spot=market == "spot")
    value = "unknown" if quota.limit is None else f"{quota.limit:g} vCPUs"
    unread = f" ({quota.why_unknown})" if quota.why_unknown else ""
    return QuotaError(
        f"the quota {quota.name} ({quota.code or 'code unknown'}) is {value}{unread} and {hardware.name} takes "
        f"{hardware.vcpus}; everything that runs in this market counts. Tried:\n{table(attempts)}",
        where=error.operation,
        hint="ask for more in the Service Quotas console"
        + (f" (quota {quota.code})" if quota.code else "")
        + ", end other instances, or choose a smaller instance.type",
        quota={"name": quota.name, "code": quota.code or None, "value": quota.limit},
        attempts=[attempt.as_dict() for attempt in attempts],
    )
