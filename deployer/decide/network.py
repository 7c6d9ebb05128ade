"""Where the server listens, and ports that may not be reachable from China's public networks."""

from __future__ import annotations

from deployer.catalog.types import Partition
from deployer.decide.types import Decision
from deployer.spec.network import Endpoint, PrivateEndpoint, PublicEndpoint


def choose_host(endpoint: Endpoint) -> tuple[str, Decision]:
    """Loopback behind a tunnel, else every address; then the security group decides who gets through."""
    if endpoint.expose == "tunnel":
        reason = "only reachable through the SSH tunnel; no port is opened"
        return "127.0.0.1", Decision("host", "127.0.0.1", reason, "rule: endpoint.expose", "endpoint.expose: private")
    networks = ", ".join(endpoint.allow)
    reason = f"expose: {endpoint.expose}; the security group admits {networks}, the API key is always asked for"
    return "0.0.0.0", Decision("host", "0.0.0.0", reason, "rule: endpoint.expose", "endpoint.expose: tunnel")  # noqa: S104


def choose_tls(endpoint: Endpoint) -> tuple[Decision, ...]:
    """How the API key travels; nothing to say behind a tunnel."""
    match endpoint:
        case PublicEndpoint(tls="self-signed"):
            reason = "the API key crosses the internet; made on the instance, told on its console, trusted alone"
        case PrivateEndpoint(tls="self-signed"):
            reason = "the spec says so; made on the instance, told on its console, trusted alone"
        case PublicEndpoint():
            reason = "the spec says so; warning: the API key and every prompt cross the internet in the clear"
        case PrivateEndpoint():
            reason = "plain HTTP: a VPC isolates its traffic, and every client would need the certificate"
        case _:
            return ()
    other = "off" if endpoint.tls == "self-signed" else "self-signed"
    return (Decision("tls", endpoint.tls, reason, "rule: endpoint.expose", f"endpoint.tls: {other}"),)


def port_warnings(endpoint: Endpoint, partition: Partition | None) -> tuple[Decision, ...]:
    """A decision to print when a public port is not known to work; blocked ones are refused with the spec."""
    if partition is None or not isinstance(endpoint, PublicEndpoint) or endpoint.icp_filed:
        return ()
    if endpoint.port not in partition.doubtful_public_ports:
        return ()
    reason = f"warning: port {endpoint.port} may be blocked without an ICP filing, though no AWS page says so"
    return (Decision("port", endpoint.port, reason, partition.source, "endpoint.port: 18080"),)
