"""The operator's own address as AWS sees it, for the SSH rule of `access.allow: auto`."""

from __future__ import annotations

import ipaddress
import urllib.request

from deployer.catalog.types import Partition
from deployer.errors import RefusedError

TIMEOUT_SECONDS = 5.0


def own_cidr(partition: Partition, configured: str | None) -> str:
    """Configured (DEPLOYER_MY_CIDR) when it is set, else one look-up at the partition's own service.

    Raises RefusedError when neither gives a network.
    """
    if configured is not None:
        try:
            return str(ipaddress.ip_network(configured, strict=False))
        except ValueError:
            raise RefusedError(
                f"DEPLOYER_MY_CIDR is {configured!r}, which is no network", hint="like 203.0.113.7/32"
            ) from None
    try:
        with urllib.request.urlopen(partition.own_address_url, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310 - from our own catalogue
            text = answer.read(200).decode("ascii", "replace").strip()
        return str(ipaddress.ip_network(text))
    except (OSError, ValueError) as error:
        raise RefusedError(
            f"your own address could not be found at {partition.own_address_url}: {error}",
            where="access.allow",
            hint="set access.allow in the spec, or DEPLOYER_MY_CIDR, to the network you connect from",
        ) from None
