"""The engine serves inside and nothing answers out here: the reason is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deployer.health.outside import Way, explain, observation

TIMEOUT = "/health gave no answer within 5 s"
WAY = Way("public", "203.0.113.5", 18080, ("198.51.100.0/24",), "198.51.100.7/32", (80, 443, 8080))


@pytest.mark.parametrize(
    ("seen", "way", "reason", "word"),
    [
        (TIMEOUT, WAY, "route", "internet gateway"),
        (TIMEOUT, replace(WAY, ours="192.0.2.1/32"), "security_group", "192.0.2.1/32"),
        (TIMEOUT, replace(WAY, admits=()), "security_group", "endpoint.allow"),
        (TIMEOUT, replace(WAY, port=8080), "icp", "ICP"),
        (TIMEOUT, replace(WAY, port=8080, ours=None), "icp", "ICP"),
        (TIMEOUT, replace(WAY, port=443, filed=()), "route", "internet gateway"),
        ("/health: [Errno 111] Connection refused", WAY, "closed", "firewall"),
        ("no address", replace(WAY, address=None), "address", "subnet"),
        (TIMEOUT, replace(WAY, expose="private", ours=None), "private", "VPN"),
        ("/health: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed", WAY, "certificate", "do not send"),
    ],
)
def test_the_reason(seen: str, way: Way, reason: str, word: str) -> None:
    error = explain(seen, way)
    assert (error.reason, error.exit_code) == (reason, 6)
    assert word in f"{error.message} {error.hint}"
    assert observation(error, "x").state == "warned", "another client may stand where the way is open"
