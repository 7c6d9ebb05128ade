"""Is a private or public endpoint reached at its own address, and if not, what is in the way?"""

from __future__ import annotations

from contextlib import suppress

from deployer.aws.names import Names
from deployer.aws.own_address import own_cidr
from deployer.aws.resources import security_group
from deployer.aws.resources.instance import Instance
from deployer.aws.session import Aws
from deployer.catalog.partition import for_region
from deployer.errors import DeployerError
from deployer.health.base import Observation
from deployer.health.client import EngineClient
from deployer.health.outside import Way, explain, look, observation
from deployer.reconcile.record import Record
from deployer.settings import Settings


def own_address(record: Record, found: Instance) -> str | None:
    """Where clients connect to; None when the instance has no such address."""
    return found.public_address if record.endpoint.expose == "public" else found.private_address


def from_outside(
    aws: Aws, settings: Settings, names: Names, record: Record, found: Instance, certificate: str | None
) -> Observation:
    """One look, after the engine was seen to serve inside. No key goes along: any answer of the engine will do."""
    endpoint, address = record.endpoint, own_address(record, found)
    seen: str | None = "no address"
    if address is not None:
        scheme = "https" if endpoint.tls else "http"
        client = EngineClient(lambda: f"{scheme}://{address}:{endpoint.port}", "none", certificate=certificate)
        seen = look(client)
        client.close()
    if seen is None:
        return observation(None, f"{address}:{endpoint.port}")
    return observation(explain(seen, _way(aws, settings, names, record, address)), str(address))


def _way(aws: Aws, settings: Settings, names: Names, record: Record, address: str | None) -> Way:
    """Asked only when something is wrong; what cannot be known stays unknown."""
    partition, endpoint = for_region(aws.region), record.endpoint
    admits: tuple[str, ...] | None = None
    ours: str | None = None
    with suppress(DeployerError):
        groups = [group for group in security_group.observe(aws, names) if group.ours]
        if groups:
            admits = tuple(rule.cidr for group in groups for rule in group.rules if rule.port == endpoint.port)
    # Inside a VPC this client shows an address of its own there, which nobody outside can tell.
    if partition is not None and endpoint.expose == "public":
        with suppress(DeployerError):
            ours = own_cidr(partition, settings.my_cidr)
    filed = (*partition.blocked_public_ports, *partition.doubtful_public_ports) if partition else ()
    return Way(endpoint.expose, address, endpoint.port, admits, ours, filed)
