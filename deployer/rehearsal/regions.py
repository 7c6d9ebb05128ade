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
        """Have the service's backend for this region ready. Raises what moto raises for a service it does not have.

        A global service has one backend for all regions of a partition: it is fresh on its first use only, in
        whichever of them that is.
        """
        with self._world.lock:
            place, backend = _backend(service, self._world.account, region)
            if (service, place) in self._done:
                return
            # Also of what making it ready needs of itself.
            self._done.add((service, place))
            match service:
                case "ec2":
                    self._prepare_ec2(backend, region)
                case "ssm" if region.startswith(_PREFIX):
                    images.seed_parameters(backend)
                case _:
                    pass
            self._inventory.remember(service, backend)

    def _prepare_ec2(self, backend: Any, region: str) -> None:
        from moto.ec2.utils import filter_dict_attribute_mapping

        filter_dict_attribute_mapping["client-token"] = "client_token"
        if region.startswith(_PREFIX):
            images.seed_images(backend)
        # The key AWS itself keeps for encrypted volumes: a fresh account has it as soon as it is needed.
        self.prepare("kms", region)
        _, keys = _backend("kms", self._world.account, region)
        with self._inventory.remembering("kms", keys):
            backend._create_default_encryption_key()
        launch.install(self._world, self._fleet, backend)
        self._consistency.install(backend)


def _backend(service: str, account: str, region: str) -> tuple[str, Any]:
    """Where the service's things of this region are kept, the region itself or its partition, and the backend."""
    from moto.backends import get_backend
    from moto.utilities.utils import get_partition

    by_region = get_backend(service)[account]
    place = region if region in by_region.regions else get_partition(region)
    return place, by_region[place]
