"""The partition a region is in, read from the catalogue, for rules that must write names as AWS writes them."""

from __future__ import annotations

from functools import cache

from deployer.catalog import partition as catalog
from deployer.catalog.types import Partition

#: Any region of the global partition; moto writes its names everywhere.
_GLOBAL_REGION = "us-east-1"


@cache
def partition_of(region: str) -> Partition:
    """The region's partition; the global one when the catalogue knows no better (IAM's pseudo regions)."""
    found = catalog.for_region(region) or catalog.for_region(_GLOBAL_REGION)
    if found is None:
        raise LookupError("the catalogue has no global partition")
    return found


def global_partition() -> Partition:
    """The partition moto believes to be in."""
    return partition_of(_GLOBAL_REGION)
