"""Security groups as nftables rules. Pure: text in, text out.

They stand in the fabric's namespace, through which every packet to a machine goes: out of the machine's own reach, and
in front of whatever it does with a packet, as on EC2. One chain for each machine, named after its port.
"""

from __future__ import annotations

from collections.abc import Sequence

from deployer.rehearsal.machines.base import IngressRule

#: Names that nft takes for IP protocols by number, as security groups may give them.
_NUMBERS = {"6": "tcp", "17": "udp", "1": "icmp"}


def skeleton() -> str:
    """The table of a fresh fabric: nothing but answers reaches a machine, or the host from one."""
    return "\n".join(
        [
            "table ip sg {",
            "  map ports { type ifname : verdict; }",
            "  chain forward {",
            "    type filter hook forward priority filter; policy drop;",
            "    ct state established,related accept",
            "    oifname vmap @ports",
            "  }",
            "  chain output {",
            "    type filter hook output priority filter; policy accept;",
            "    ct state established,related accept",
            "    oifname vmap @ports",
            "  }",
            "}",
            "",
        ]
    )


def opened(port: str) -> str:
    """Add a machine's port, closed to everybody."""
    return f"add chain ip sg {port}\nadd rule ip sg {port} drop\nadd element ip sg ports {{ {port} : jump {port} }}\n"


def changed(port: str, rules: Sequence[IngressRule]) -> str:
    """Let in what the rules say and nothing else, at one stroke."""
    lines = [f"flush chain ip sg {port}"]
    lines += [f"add rule ip sg {port} {_match(rule)} accept" for rule in rules]
    return "\n".join([*lines, f"add rule ip sg {port} drop", ""])


def closed(port: str) -> str:
    """Take a machine's port away."""
    return f"delete element ip sg ports {{ {port} }}\nflush chain ip sg {port}\ndelete chain ip sg {port}\n"


def _match(rule: IngressRule) -> str:
    source = f"ip saddr {rule.source}"
    protocol = _NUMBERS.get(rule.protocol, rule.protocol)
    if protocol == "-1":
        return source
    if protocol in ("tcp", "udp") and rule.ports is not None:
        return f"{source} {protocol} dport {rule.ports[0]}-{rule.ports[1]}"
    return f"{source} meta l4proto {protocol}"
