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
_TITLES = ("MARKET", "TYPE", "ZONE", "CODE", "ANSWER")


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
        """One row of the table. The code has a column of its own, so the answer does not repeat it."""
        said = (self.message or self.outcome).partition(f"{self.aws_code}: ")[2] or self.message or self.outcome
        request = f" (request {self.request_id})" if self.request_id else ""
        return self.market, self.instance_type, self.zone or "-", self.aws_code or self.outcome, said + request


def refused(market: str, instance_type: str, zone: str, error: AwsError) -> Attempt:
    """The attempt that ended with AWS's error."""
    return Attempt(market, instance_type, zone, "refused", error.aws_code, error.message, error.request_id)


def table(attempts: Sequence[Attempt]) -> str:
    """Aligned columns; the last one, AWS's words, is as long as it is."""
    rows = [_TITLES, *(attempt.cells for attempt in attempts)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_TITLES) - 1)]
    lines = (
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]) for row in rows
    )
    return "\n".join(f"  {line}" for line in lines)


def nothing_anywhere(
    attempts: Sequence[Attempt], stack: str, region: str, stays: Sequence[str]
) -> CapacityError | RefusedError:
    """When no place was left to try. stays: ids of the instances that serve as before."""
    if all(attempt.outcome == "skipped" for attempt in attempts):
        return RefusedError(
            f"no allowed instance type can be launched in {region}:\n{table(attempts)}",
            where="instance.type",
            hint="choose another instance.type or add instance.fallbacks",
        )
    left = f"{', '.join(stays)} serves as before" if stays else "nothing that costs money was left"
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
