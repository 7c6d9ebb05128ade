"""Makes moto's backends of a region on first use: seeded as in AWS China, hooked to the rules, counted as fresh."""

from __future__ import annotations

from typing import Any

from deployer.rehearsal.fidelity import images, launch
from deployer.rehearsal.fidelity.consistency import Consistency
from deployer.rehearsal.fidelity.fleet import Fleet
from deployer.rehearsal.fidelity.world import World
from deployer.rehearsal.inventory import Inventory

#: Regions whose images, parameters and offerings are ours; moto's own data serve the others.
_PREFIX = "cn-"


class Regions:
    """Backends prepared so far."""

    def __init__(self, world: World, fleet: Fleet, inventory: Inventory, consistency: Consistency) -> None:
        self._world = world
        self._fleet = fleet
        self._inventory = inventory
        self._consistency = consistency
        self._done: set[tuple[str, str]] = set()

    def prepare(self, service: str, region: str) -> None:
        """Have the service's backend for this region ready. Raises what moto raises for a service it does not have."""
        if (service, region) in self._done:
            return
        with self._world.lock:
            backend = _backend(service, self._world.account, region)
            match service:
                case "ec2":
                    self._prepare_ec2(backend, region)
                case "ssm" if region.startswith(_PREFIX):
                    images.seed_parameters(backend)
                case _:
                    pass
            self._inventory.remember(service, backend)
            self._done.add((service, region))

    def _prepare_ec2(self, backend: Any, region: str) -> None:
        from moto.ec2.utils import filter_dict_attribute_mapping

        filter_dict_attribute_mapping["client-token"] = "client_token"
        if region.startswith(_PREFIX):
            images.seed_images(backend)
        # The key AWS itself keeps for encrypted volumes: a fresh account has it as soon as it is needed.
        backend._create_default_encryption_key()
        self._inventory.remember("kms", _backend("kms", self._world.account, region))
        launch.install(self._world, self._fleet, backend)
        self._consistency.install(backend)


def _backend(service: str, account: str, region: str) -> Any:
    from moto.backends import get_backend
    from moto.utilities.utils import get_partition

    by_region = get_backend(service)[account]
    return by_region[region if region in by_region.regions else get_partition(region)]
