"""AWS partitions: the only place where names, endpoints and principals are put together."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from deployer.catalog.source import cite, document
from deployer.catalog.types import Architecture, Partition


class AmiCandidate(NamedTuple):
    """One public SSM parameter that may hold an image id, and how to find the image by owner and name without it.

    owner_key: a key of Partition.image_owners.
    """

    parameter_name: str
    description: str
    owner_key: str
    name_glob: str


@lru_cache(maxsize=8)
def lookup(name: str) -> Partition | None:
    """The partition called `name` (`aws-cn`, `aws`), or None."""
    row = document("partitions")["partitions"].get(name)
    return _partition(name, row) if row else None


@lru_cache(maxsize=64)
def for_region(region: str) -> Partition | None:
    """The partition `region` lies in, or None when no known partition has regions named so."""
    for name, row in document("partitions")["partitions"].items():
        if re.fullmatch(row["region_pattern"], region):
            return lookup(name)
    return None


def known_regions() -> list[str]:
    """Regions to name in messages."""
    return [region for row in document("partitions")["partitions"].values() for region in row["regions"]]


def arn(partition: Partition, service: str, region: str, account: str, resource: str) -> str:
    """An ARN; region and account may be empty where the service leaves them so (IAM, S3)."""
    return f"arn:{partition.name}:{service}:{region}:{account}:{resource}"


def endpoint(partition: Partition, service: str, region: str) -> str:
    """The https URL of a service's API, without a trailing slash. `service` is the host's first label."""
    special = partition.endpoints.get(service)
    return special.format(region=region) if special else f"https://{service}.{region}.{partition.dns_suffix}"


def principals(partition: Partition, service: str) -> tuple[str, ...]:
    """Every principal of a service, as an `iam:PassedToService` condition must list them.

    Raises KeyError for a service the catalogue does not know: a suffix is never guessed, it differs by service.
    """
    return partition.principals[service]


def trust_principal(partition: Partition, service: str) -> str:
    """The one principal for a trust policy. Raises KeyError for an unknown service."""
    return principals(partition, service)[0]


def ami_parameters(architecture: Architecture, gpu: bool) -> list[AmiCandidate]:
    """Where to look for an image, best first. With `gpu` the last candidate is a plain image without a driver."""
    rows = document("partitions")["ami_parameters"]
    chosen = [*rows["gpu"], *rows["plain"]] if gpu else rows["plain"]
    return [
        AmiCandidate(
            parameter_name=row["parameter"].format(architecture=architecture),
            description=row["description"],
            owner_key=row["owner_key"],
            name_glob=row["name_glob"].format(architecture=architecture),
        )
        for row in chosen
    ]


def _partition(name: str, row: dict[str, Any]) -> Partition:
    return Partition(
        name=name,
        dns_suffix=row["dns_suffix"],
        region_pattern=row["region_pattern"],
        iam_region=row["iam_region"],
        principals={service: tuple(values) for service, values in row["principals"].items()},
        image_owners=dict(row["image_owners"]),
        console_url=row["console_url"],
        docs_url=row["docs_url"],
        own_address_url=row["own_address_url"],
        blocked_public_ports=tuple(row["blocked_public_ports"]),
        source=cite("partitions"),
        endpoints=dict(row["endpoints"]),
        doubtful_public_ports=tuple(row["doubtful_public_ports"]),
        pricing_region=row["pricing_region"],
        regions=tuple(row["regions"]),
    )
