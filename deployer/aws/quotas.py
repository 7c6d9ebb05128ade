"""Service quotas by name: how many vCPUs of a kind the account may run, and how many it runs."""

from __future__ import annotations

from dataclasses import dataclass

from deployer.aws.session import Aws
from deployer.catalog.types import Hardware
from deployer.errors import AwsError

#: Words of the quota's own name that tell it from the others; codes differ from quota to quota, names say what it is.
_STANDARD = "Standard (A, C, D, H, I, M, R, T, Z)"
_GPU = "G and VT"


@dataclass(frozen=True)
class Quota:
    """limit: vCPUs; None: AWS did not say, which is not 0. code: AWS's own of the quota, empty when it did not say."""

    name: str
    limit: float | None
    why_unknown: str = ""
    code: str = ""


def for_hardware(aws: Aws, hardware: Hardware, *, spot: bool = False) -> Quota:
    """The quota an instance of this type counts against. Never raises AwsError: what cannot be read is unknown."""
    return vcpus(aws, gpu=hardware.gpu is not None, spot=spot)


def vcpus(aws: Aws, *, gpu: bool, spot: bool = False) -> Quota:
    """The vCPU quota of GPU or of standard instances, on demand or spot."""
    words, market = (_GPU if gpu else _STANDARD), ("Spot" if spot else "On-Demand")
    name = f"{market} {words} instances"
    try:
        for quota in aws.pages("service-quotas", "ListServiceQuotas", "Quotas", ServiceCode="ec2"):
            title = str(quota.get("QuotaName", ""))
            if words in title and market in title:
                value = quota.get("Value")
                code = str(quota.get("QuotaCode", ""))
                return Quota(title, None if value is None else float(value), code=code)
    except AwsError as error:
        return Quota(name, None, error.message)
    return Quota(name, None, "AWS lists no quota of this name")
