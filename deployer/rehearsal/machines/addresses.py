"""Loopback addresses for machines: one each, never the same for two sandboxes of one computer."""

from __future__ import annotations

import errno
import random
import socket
import threading

from deployer.errors import CapacityError

#: Every address of 127/8 reaches this computer on Linux; this corner of it is ours.
_PREFIX = "127.72"
_ONLY = "127.0.0.1"
#: A UDP port held on an address says that it is taken, to other processes too, and ends with the process that holds it.
_CLAIM_PORT = 7272
_TRIES = 200
_SSH_PORTS = range(22022, 22922)


class Addresses:
    """Hands out addresses and takes them back. many: whether this system has more than one loopback address."""

    def __init__(self) -> None:
        self._claims: dict[str, socket.socket] = {}
        self._lock = threading.Lock()
        self._random = random.Random()  # noqa: S311 - spreads sandboxes apart, hides nothing
        self.many = _exists(f"{_PREFIX}.1.1")

    def allocate(self) -> str:
        """An unused address. Raises CapacityError when there is none."""
        wanted = [_ONLY]
        if self.many:
            draw = self._random.randrange
            wanted = [f"{_PREFIX}.{draw(1, 255)}.{draw(1, 255)}" for _ in range(_TRIES)]
        for address in wanted:
            if self.claim(address):
                return address
        if self.many:
            raise CapacityError(f"no free address in {_PREFIX}.0.0/16: UDP port {_CLAIM_PORT} is in use on all tried")
        raise CapacityError(
            "this system has one loopback address, so one process machine can run at a time",
            hint="take the other machine down first",
        )

    def claim(self, address: str) -> bool:
        """Take this very address; False when it is taken, here or elsewhere."""
        with self._lock:
            if address in self._claims:
                return False
            claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                claim.bind((address, _CLAIM_PORT))
            except OSError:
                claim.close()
                return False
            self._claims[address] = claim
            return True

    def owns(self, address: str) -> bool:
        """Whether the address was taken here and not given back."""
        return address in self._claims

    def release(self, address: str) -> None:
        """Give an address back."""
        with self._lock:
            claim = self._claims.pop(address, None)
        if claim is not None:
            claim.close()

    def close(self) -> None:
        """Give all back."""
        for address in list(self._claims):
            self.release(address)


def free_ssh_port() -> int:
    """A port that is free on every address of this computer, the same for all machines of one sandbox."""
    for port in _SSH_PORTS:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            try:
                probe.bind(("0.0.0.0", port))  # noqa: S104 - asks about all addresses, listens on none
            except OSError:
                continue
            return port
    raise CapacityError(f"no free port for ssh between {_SSH_PORTS[0]} and {_SSH_PORTS[-1]}")


def _exists(address: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                return False
            raise
    return True
