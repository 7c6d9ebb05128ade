"""Small value languages inside a spec: durations and networks. Errors are ValueErrors in words for a person."""

from __future__ import annotations

import ipaddress
import re

from deployer.spec.findings import show

_UNITS = {"m": 60, "h": 3600, "d": 86400}

# Half the internet in two entries is the usual way around a ban on 0.0.0.0/0. No organisation holds more than a /8
# of IPv4 in one piece, nor more than a /16 of IPv6.
_WIDEST = {4: 8, 6: 16}


def parse_duration_seconds(text: str) -> int:
    """`90m`, `8h`, `2d` in seconds. Raises ValueError on anything else."""
    match = re.fullmatch(r"([1-9][0-9]{0,5})([mhd])", text)
    if match is None:
        raise ValueError(f'"{show(text)}" is no duration; write a whole number and a unit: 90m, 8h, 2d')
    return int(match.group(1)) * _UNITS[match.group(2)]


def parse_network(text: str) -> str:
    """`10.0.0.0/16`, `203.0.113.7/32` (or the bare address) in its canonical form.

    Raises ValueError on anything else, on bits set after the prefix, and on networks wider than one owner can have.
    """
    try:
        interface = ipaddress.ip_interface(text)
    except ValueError:
        raise ValueError(f'"{show(text)}" is no network; write one like 10.0.0.0/16 or 203.0.113.7/32') from None
    network = interface.network
    if network.prefixlen == 0:
        raise ValueError("the whole internet is not accepted; name the networks that need access")
    if network.prefixlen < _WIDEST[network.version]:
        raise ValueError(f"{network} is wider than a /{_WIDEST[network.version]}; name the networks that need access")
    if interface.ip != network.network_address:
        single = f"{interface.ip}/{interface.ip.max_prefixlen}"
        raise ValueError(f"{text} has bits set after the prefix; write {network} for all of it or {single} for the one")
    return str(network)
