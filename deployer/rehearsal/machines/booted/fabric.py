"""The network of one sandbox: a namespace that routes between the host, its services and the machines.

The root namespace gets one end of one link and one route. There is no way from here to anywhere else: a machine that
asks for another address is told at once that there is no route.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from urllib.parse import urlsplit

from deployer.clock import Clock
from deployer.rehearsal.machines.base import IngressRule, MachineLaunch
from deployer.rehearsal.machines.booted import firewall, metadata
from deployer.rehearsal.machines.booted.commands import HostError, run
from deployer.rehearsal.machines.booted.listeners import NAMESPACES, NamespaceServer
from deployer.rehearsal.machines.booted.names import Slot
from deployer.rehearsal.machines.booted.relay import start_relay

_HOST_LINK = "host"


class Fabric:
    """Up from construction to close(). A slot's fabric must not exist already. Raises HostError."""

    def __init__(self, slot: Slot, clock: Clock) -> None:
        self.slot = slot
        self._lock = threading.Lock()
        self._relays: dict[str, NamespaceServer] = {}
        self._ports: set[str] = set()
        _create(slot)
        self._metadata = metadata.SharedMetadata(slot.name, clock)

    def publish(self, url: str) -> str:
        """The same service under an address that machines and clients reach alike. url: of a server on loopback."""
        parts = urlsplit(url)
        target = f"{parts.hostname}:{parts.port}"
        with self._lock:
            if target not in self._relays:
                address = (str(parts.hostname), int(parts.port or 80))
                self._relays[target] = start_relay(self.slot.name, self.slot.services, address)
            return f"{parts.scheme}://{self.slot.services}:{self._relays[target].port}{parts.path}"

    def attach(self, launch: MachineLaunch, rules: Sequence[IngressRule]) -> str:
        """Make a machine's namespace with its address and connect it; the namespace's name."""
        slot, address = self.slot, launch.address
        port, namespace = slot.port(address), slot.namespace(address)
        run(["ip", "netns", "add", namespace])
        peer = ["peer", "name", "eth0", "address", slot.mac(address), "netns", namespace]
        run(["ip", "-n", slot.name, "link", "add", port, "type", "veth", *peer])
        _batch(
            namespace,
            f"addr add {address}/24 dev eth0",
            "link set lo up",
            "link set eth0 up",
            f"route add default via {slot.services}",
        )
        with self._lock:
            _nft(slot, firewall.opened(port) + firewall.changed(port, rules))
            self._ports.add(port)
        _connect(slot, port, address)
        self._metadata.add(launch, slot.mac(address))
        return namespace

    def apply(self, address: str, rules: Sequence[IngressRule]) -> None:
        """Change what may reach a machine; nothing when it is not attached."""
        port = self.slot.port(address)
        with self._lock:
            if port in self._ports:
                _nft(self.slot, firewall.changed(port, rules))

    def detach(self, address: str) -> None:
        """Take a machine's network away; may be called twice."""
        port, namespace = self.slot.port(address), self.slot.namespace(address)
        self._metadata.remove(address)
        with self._lock:
            if port in self._ports:
                self._ports.discard(port)
                _nft(self.slot, firewall.closed(port))
        with contextlib.suppress(HostError):
            run(["ip", "-n", self.slot.name, "link", "delete", port])
        with contextlib.suppress(HostError):
            run(["ip", "netns", "delete", namespace])

    def close(self) -> None:
        """Take it all away."""
        self._metadata.close()
        for relay in self._relays.values():
            relay.close()
        remove(self.slot)


def remove(slot: Slot) -> None:
    """Delete every namespace and link of a slot, whoever made it."""
    names = [path.name for path in NAMESPACES.iterdir()] if NAMESPACES.is_dir() else []
    for name in filter(slot.owns, names):
        with contextlib.suppress(HostError):
            run(["ip", "netns", "delete", name])
    # Namespaces end a little later than their names; the link has to be gone at once.
    with contextlib.suppress(HostError):
        run(["ip", "link", "delete", slot.name])


def _create(slot: Slot) -> None:
    run(["ip", "netns", "add", slot.name])
    run(["ip", "link", "add", slot.name, "type", "veth", "peer", "name", _HOST_LINK, "netns", slot.name])
    _batch(
        slot.name,
        "link set lo up",
        f"addr add {metadata.ADDRESS}/32 dev lo",
        f"addr add {slot.services}/32 dev {_HOST_LINK}",
        # Routed rather than dropped, so that whoever looks for the internet learns at once that there is none.
        "route add unreachable default",
    )
    _nft(slot, firewall.skeleton())
    run(["ip", "netns", "exec", slot.name, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"])
    _connect(slot, _HOST_LINK, slot.client)
    run(["ip", "address", "add", f"{slot.client}/24", "dev", slot.name])
    run(["ip", "link", "set", slot.name, "up"])


def _connect(slot: Slot, port: str, address: str) -> None:
    """Bring a port up. All are in one network without a bridge: the fabric answers for the other addresses."""
    settings = "echo 1 > /proc/sys/net/ipv4/conf/$0/proxy_arp; echo 0 > /proc/sys/net/ipv4/neigh/$0/proxy_delay"
    run(["ip", "netns", "exec", slot.name, "sh", "-ec", settings, port])
    _batch(slot.name, f"link set {port} up", f"route add {address}/32 dev {port}")


def _batch(namespace: str, *commands: str) -> None:
    run(["ip", "-n", namespace, "-batch", "-"], text="\n".join(commands) + "\n")


def _nft(slot: Slot, text: str) -> None:
    run(["ip", "netns", "exec", slot.name, "nft", "-f", "-"], text=text)
