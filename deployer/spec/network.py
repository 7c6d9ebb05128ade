"""Who can reach the server and the machine: endpoint, network and SSH."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field

from deployer.spec.fields import Cidr, Port, Strict, Text
from deployer.spec.forms import SSH_USER, Form


def _bastion(value: str) -> str:
    _, _, port = value.partition(":")
    if port and not 1 <= int(port) <= 65535:
        raise ValueError("the port must be between 1 and 65535")
    return value


class TunnelEndpoint(Strict):
    """The server listens on the instance's loopback only; clients come through SSH."""

    expose: Annotated[
        Literal["tunnel"], Field(description="tunnel: loopback and SSH; private: inside the VPC; public: by address.")
    ] = "tunnel"
    port: Annotated[Port, Field(description="The port the server listens on.")] = 18080


_TLS = "self-signed: https, with a certificate made on the instance and pinned by deployer's clients; off: plain HTTP."


class PrivateEndpoint(Strict):
    """The server listens inside the VPC for the networks in `allow`."""

    expose: Annotated[Literal["private"], Field(description="Reachable inside the VPC.")]
    port: Annotated[Port, Field(description="The port the server listens on.")] = 18080
    allow: Annotated[list[Cidr], Field(min_length=1, description="Networks that may connect.")]
    tls: Annotated[Literal["off", "self-signed"], Field(description=_TLS)] = "off"


class PublicEndpoint(Strict):
    """The server listens on a public address for the networks in `allow`."""

    expose: Annotated[Literal["public"], Field(description="Reachable from the internet, for `allow` only.")]
    port: Annotated[Port, Field(description="The port the server listens on.")] = 18080
    allow: Annotated[list[Cidr], Field(min_length=1, description="Networks that may connect.")]
    tls: Annotated[Literal["off", "self-signed"], Field(description=_TLS)] = "self-signed"
    icp_filed: Annotated[
        bool, Field(description="In China, public 80, 443 and 8080 are blocked without an ICP filing.")
    ] = False


Endpoint = Annotated[
    TunnelEndpoint | PrivateEndpoint | PublicEndpoint,
    Field(discriminator="expose", description="Who can reach the server, and on which port."),
]


def tls_of(endpoint: BaseModel) -> bool:
    """Does the endpoint speak https? Behind a tunnel SSH encrypts already, and a local stack never leaves loopback."""
    return getattr(endpoint, "tls", "off") != "off"


class NetworkSpec(Strict):
    """The user's own network, never changed or deleted. Left out: the default VPC, and a security group of ours."""

    vpc: (
        Annotated[
            str,
            Field(pattern=r"^vpc-[0-9a-f]{8,17}$", description="An existing VPC."),
            Form("a VPC id such as vpc-0123456789abcdef0"),
        ]
        | None
    ) = None
    subnet: (
        Annotated[
            str,
            Field(pattern=r"^subnet-[0-9a-f]{8,17}$", description="An existing subnet."),
            Form("a subnet id such as subnet-0123456789abcdef0"),
        ]
        | None
    ) = None
    security_group: (
        Annotated[
            str,
            Field(pattern=r"^sg-[0-9a-f]{8,17}$", description="An existing security group, used as it is."),
            Form("a security group id such as sg-0123456789abcdef0"),
        ]
        | None
    ) = None


class AccessSpec(Strict):
    """SSH. key: path of an existing private key; left out, a new ed25519 key is made and kept 0600.

    allow: networks that may reach the SSH port; `auto` is the operator's own address.
    bastion: user@host or user@host:port to jump through.
    """

    user: Annotated[
        Annotated[str, Field(pattern=rf"^{SSH_USER}$"), Form("a user name such as ec2-user")] | Literal["auto"],
        Field(description="The SSH user; `auto` is the one of the image."),
    ] = "auto"
    port: Annotated[Port, Field(description="The SSH port.")] = 22
    key: Annotated[Text, Field(description="An existing private key; left out, a new one is made and kept.")] | None = (
        None
    )
    allow: Annotated[
        list[Cidr] | Literal["auto"], Field(description="Networks that may reach SSH; `auto` is your own address.")
    ] = "auto"
    bastion: (
        Annotated[
            str,
            Field(
                pattern=rf"^{SSH_USER}@[A-Za-z0-9.-]+(:[0-9]{{1,5}})?$",
                description="user@host or user@host:port to jump through.",
            ),
            AfterValidator(_bastion),
            Form("user@host or user@host:port"),
        ]
        | None
    ) = None
