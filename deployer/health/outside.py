"""The endpoint as a client of its own address sees it, once the engine is known to serve inside: why nothing answers.

Whatever is wrong here is on the way. It warns: another client may stand where the way is open.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from deployer.errors import NotHealthyError
from deployer.health.base import Observation
from deployer.health.client import EngineClient, Odd, Refused, TimedOut

Reason = Literal["icp", "security_group", "address", "private", "route", "closed", "certificate"]

_REFUSED = "[Errno 111]"


class OutsideError(NotHealthyError):
    """The engine serves inside and not out here. reason: what is in the way."""

    code = "outside"

    def __init__(self, message: str, *, reason: Reason, where: str, hint: str) -> None:
        super().__init__(message, where=where, hint=hint)
        self.reason = reason


@dataclass(frozen=True)
class Way:
    """What AWS knows of the way. address: None when the instance has none of the kind that `expose` means.

    admits: the networks that the security groups let in on the port; None when they are not ours to read.
    ours: the network that this client comes from, None when unknown. filed: ports that need an ICP filing here.
    """

    expose: str
    address: str | None
    port: int
    admits: tuple[str, ...] | None
    ours: str | None
    filed: tuple[int, ...]


def look(client: EngineClient) -> str | None:
    """What is wrong when the endpoint's own address is asked; None when the engine answers."""
    match client.health():
        case Refused(text) | TimedOut(text) | Odd(0, text):
            return text
        case _:
            return None


def explain(seen: str, way: Way) -> OutsideError:
    """The most certain reason for what was seen, while the engine is known to serve inside."""
    where = f"{way.address}:{way.port}"
    if way.address is None:
        hint = f"expose: {way.expose} needs an address: a subnet that gives one, or endpoint.expose: tunnel"
        return OutsideError(f"the instance has no {way.expose} address", reason="address", where="instance", hint=hint)
    inside = f"{seen}, though the engine serves inside"
    if "certificate verify failed" in seen.lower():
        return OutsideError(
            f"{inside}: another certificate than the instance's own is shown",
            reason="certificate",
            where=where,
            hint="something between here and the instance answers in its place: do not send it the key",
        )
    if way.admits is not None and way.ours is not None and not _admitted(way.ours, way.admits):
        return OutsideError(
            f"{inside}: the security group does not admit {way.ours} on port {way.port}",
            reason="security_group",
            where=where,
            hint=f"add {way.ours} to endpoint.allow and run `deployer up`, or use `deployer tunnel`",
        )
    if way.expose == "public" and way.port in way.filed:
        return OutsideError(
            f"{inside}: in China port {way.port} of a public address is blocked without an ICP filing",
            reason="icp",
            where=where,
            hint="choose another endpoint.port such as 18080, or have the filing done for this account",
        )
    if _REFUSED in seen:
        return OutsideError(
            f"{inside}: the machine is reached and its port is closed",
            reason="closed",
            where=where,
            hint="a firewall on the instance or on the way rejects it; `deployer tunnel` goes around",
        )
    if way.expose == "private":
        return OutsideError(
            f"{inside}: {way.address} is an address inside the VPC, and no way leads there from here",
            reason="private",
            where=where,
            hint="ask from inside the VPC or over a VPN, or use `deployer tunnel`",
        )
    return OutsideError(
        f"{inside}: there is no way back or forth",
        reason="route",
        where=where,
        hint="look at the subnet's route table (an internet gateway), its network ACL and your own firewall",
    )


def observation(error: OutsideError | None, address: str) -> Observation:
    """As a rung."""
    if error is None:
        return Observation("passed", f"{address} answers from here")
    return Observation("warned", error.message, error)


def _admitted(ours: str, admits: Iterable[str]) -> bool:
    network = ipaddress.ip_network(ours)
    return any(
        network.version == other.version and network.subnet_of(other)  # type: ignore[arg-type]
        for other in map(ipaddress.ip_network, admits)
    )
