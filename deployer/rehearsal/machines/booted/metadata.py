"""One metadata service for all machines of a fabric: who asks is told by the source address."""

from __future__ import annotations

from collections import ChainMap

from deployer.clock import Clock
from deployer.rehearsal.machines.base import MachineLaunch
from deployer.rehearsal.machines.booted.listeners import NamespaceServer, listen
from deployer.rehearsal.machines.imds import InstanceMetadata, MetadataHandler

ADDRESS = "169.254.169.254"
_PORT = 80


class SharedMetadata:
    """Listens at 169.254.169.254 inside a namespace from construction to close(). Version 2 only."""

    def __init__(self, namespace: str, clock: Clock) -> None:
        self._clock = clock
        self._machines: dict[str, InstanceMetadata] = {}

        class Handler(MetadataHandler):
            def asked(_self) -> InstanceMetadata | None:  # noqa: N805 - the other self is this service
                return self._machines.get(str(_self.client_address[0]))

        self._server = NamespaceServer(listen(namespace, ADDRESS, _PORT), Handler)

    def add(self, launch: MachineLaunch, mac: str) -> None:
        """From now on answer this machine. mac: of its interface, which cloud-init looks for in the metadata."""
        interface = {"mac": mac, "device-number": "0", "local-ipv4s": launch.address, "public-ipv4s": launch.address}
        inside = {f"network/interfaces/macs/{mac}/{name}": text for name, text in interface.items()}
        documents = ChainMap({"mac": mac, **inside}, launch.metadata)
        self._machines[launch.address] = InstanceMetadata(documents, launch.user_data, self._clock)

    def remove(self, address: str) -> None:
        """From now on know nothing of it."""
        self._machines.pop(address, None)

    def close(self) -> None:
        """Stop serving."""
        self._server.close()
