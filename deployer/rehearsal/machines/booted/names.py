"""How what a sandbox makes on the host is called and addressed. Everything begins with `dpl-` and the slot's number."""

from __future__ import annotations

from dataclasses import dataclass

#: 198.18.0.0/15 is set apart for tests of networks (RFC 2544); each sandbox takes one /24 of its first half.
SLOTS = range(256)
_SERVICES, _CLIENT = 1, 254
MACHINES = range(11, 251)


@dataclass(frozen=True)
class Slot:
    """One sandbox's names and addresses. number: the third octet."""

    number: int

    @property
    def name(self) -> str:
        """Of the namespace in the middle, of the host's end of the link to it, of the control group."""
        return f"dpl-{self.number}"

    @property
    def services(self) -> str:
        """The address of the fabric itself: gateway, and where the host's services are reached from everywhere."""
        return self._address(_SERVICES)

    @property
    def client(self) -> str:
        """The host's own address on the fabric: where an operator's connections come from."""
        return self._address(_CLIENT)

    @property
    def network(self) -> str:
        """The whole of it."""
        return f"{self._address(0)}/24"

    def addresses(self) -> list[str]:
        """For machines."""
        return [self._address(octet) for octet in MACHINES]

    def namespace(self, address: str) -> str:
        """A machine's network namespace."""
        return f"{self.name}-{_octet(address)}"

    def port(self, address: str) -> str:
        """The fabric's end of the link to a machine."""
        return f"port{_octet(address)}"

    def mac(self, address: str) -> str:
        """Of a machine's interface; locally administered, as EC2's are."""
        return "06:00:" + ":".join(f"{int(octet):02x}" for octet in address.split("."))

    def owns(self, name: str) -> bool:
        """Whether a namespace of that name is this slot's."""
        return name == self.name or name.startswith(self.name + "-")

    def _address(self, octet: int) -> str:
        return f"198.18.{self.number}.{octet}"


def _octet(address: str) -> str:
    return address.rpartition(".")[2]
