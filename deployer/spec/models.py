"""StackSpec: what a person writes, as strict Pydantic models. Positions and wording of errors live in load.py."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from deployer.spec.values import parse_duration_seconds

CacheType = Literal["f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"]
BuildName = Literal["auto", "graviton", "avx512", "cuda", "generic"]

# 32 keeps `deployer-<name>-role-<region>` inside IAM's 64 characters.
StackName = Annotated[
    str,
    Field(
        pattern=r"^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$",
        description="DNS label, at most 32 characters: lower case letters, digits and hyphens, starting with a letter.",
    ),
]


def _cidr(value: str) -> str:
    network = ipaddress.ip_network(value, strict=False)
    if network.prefixlen == 0:
        raise ValueError("the whole internet is not accepted; name the networks that need access")
    return str(network)


def _duration(value: str) -> str:
    parse_duration_seconds(value)
    return value


def _no_control_characters(value: str) -> str:
    if re.search(r"[\x00-\x1f\x7f]", value):
        raise ValueError("control characters are not accepted")
    return value


Cidr = Annotated[str, AfterValidator(_cidr)]
Duration = Annotated[str, AfterValidator(_duration), Field(description="A whole number and a unit: 90m, 8h, 2d.")]
Text = Annotated[str, Field(min_length=1, max_length=1024), AfterValidator(_no_control_characters)]
Port = Annotated[int, Field(ge=1, le=65535)]
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,200}\.gguf$", description="A GGUF file name.")]


class Strict(BaseModel):
    """Unknown keys are errors, values are not coerced across types, instances do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class RootVolume(Strict):
    """The instance's encrypted gp3 root volume."""

    size_gib: Annotated[int, Field(ge=8, le=16384)] | Literal["auto"] = "auto"
    iops: Annotated[int, Field(ge=3000, le=80000)] | None = None
    throughput_mibs: Annotated[int, Field(ge=125, le=2000)] | None = None


class InstanceSpec(Strict):
    """Which EC2 instance; `fallbacks` are tried in order when AWS has no capacity for `type`."""

    type: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*\.[a-z0-9-]+$")]
    fallbacks: list[Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*\.[a-z0-9-]+$")]] = []
    market: Literal["on-demand", "spot"] = "on-demand"
    ami: Annotated[str, Field(pattern=r"^ami-[0-9a-f]{8,17}$")] | Literal["auto"] = "auto"
    root_volume: RootVolume = RootVolume()


class ModelSpec(Strict):
    """A catalogue model (`name`, optionally `quant`), or any GGUF (`source` and `file`).

    `name` with `source` takes the catalogue's facts and another place to download from.
    source: modelscope://ORG/REPO, s3://BUCKET/PREFIX, https://HOST/PATH, file:///DIR (or file://~/DIR).
    """

    name: Text | None = None
    quant: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")] | None = None
    source: (
        Annotated[str, Field(pattern=r"^(modelscope|s3|https?|file)://.+$"), AfterValidator(_no_control_characters)]
        | None
    ) = None
    file: FileName | None = None
    revision: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")] = "master"
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    alias: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/-]{0,100}$")] | None = None
    mtp_head: (
        Annotated[bool, Field(description="For a GGUF the catalogue does not know: does it carry an MTP head?")] | None
    ) = None


class MtpSpec(Strict):
    """Multi-token prediction. `auto` follows the hardware; the numbers override the default of the hardware."""

    mode: Literal["auto", "on", "off"] = "auto"
    draft_n_max: Annotated[int, Field(ge=1, le=16)] | None = None
    draft_p_min: Annotated[float, Field(ge=0.0, lt=1.0, strict=False)] | None = None


def _mtp_shorthand(value: object) -> object:
    return {"mode": value} if isinstance(value, str) else value


class EngineSpec(Strict):
    """How llama.cpp is built and run."""

    runtime: Literal["auto", "docker", "process"] = "auto"
    build: BuildName = "auto"
    image: Text | None = None
    context: Annotated[int, Field(ge=256, le=1_048_576, description="Tokens for each slot.")] = 32768
    parallel: Annotated[int, Field(ge=1, le=64, description="Slots, i.e. requests served at once.")] = 1
    threads: Annotated[int, Field(ge=1, le=512)] | Literal["auto"] = "auto"
    cache_type_k: CacheType = "f16"
    cache_type_v: CacheType = "f16"
    flash_attention: Literal["auto", "on", "off"] = "auto"
    mtp: Annotated[
        MtpSpec, BeforeValidator(_mtp_shorthand, json_schema_input_type=Literal["auto", "on", "off"] | MtpSpec)
    ] = MtpSpec()
    extra_args: list[Text] = []


class TunnelEndpoint(Strict):
    """The server listens on the instance's loopback only; clients come through SSH."""

    expose: Literal["tunnel"] = "tunnel"
    port: Port = 18080


class PrivateEndpoint(Strict):
    """The server listens inside the VPC for the networks in `allow`."""

    expose: Literal["private"]
    port: Port = 18080
    allow: Annotated[list[Cidr], Field(min_length=1)]


class PublicEndpoint(Strict):
    """The server listens on a public address for the networks in `allow`."""

    expose: Literal["public"]
    port: Port = 18080
    allow: Annotated[list[Cidr], Field(min_length=1)]
    icp_filed: Annotated[
        bool, Field(description="In China, public 80, 443 and 8080 are blocked without an ICP filing.")
    ] = False


Endpoint = Annotated[TunnelEndpoint | PrivateEndpoint | PublicEndpoint, Field(discriminator="expose")]


class NetworkSpec(Strict):
    """The user's own network, never changed or deleted. Left out: the default VPC, and a security group of ours."""

    vpc: Annotated[str, Field(pattern=r"^vpc-[0-9a-f]{8,17}$")] | None = None
    subnet: Annotated[str, Field(pattern=r"^subnet-[0-9a-f]{8,17}$")] | None = None
    security_group: Annotated[str, Field(pattern=r"^sg-[0-9a-f]{8,17}$")] | None = None


class AccessSpec(Strict):
    """SSH. key: path of an existing private key; left out, a new ed25519 key is made and kept 0600.

    allow: networks that may reach the SSH port; `auto` is the operator's own address.
    bastion: user@host or user@host:port to jump through.
    """

    user: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]{0,31}$")] | Literal["auto"] = "auto"
    port: Port = 22
    key: Text | None = None
    allow: list[Cidr] | Literal["auto"] = "auto"
    bastion: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]{0,31}@[A-Za-z0-9.-]+(:[0-9]{1,5})?$")] | None = None


class LifetimeSpec(Strict):
    """ttl: the instance ends itself after that long; left out, it runs until `down`."""

    ttl: Duration | None = None


TagKey = Annotated[str, Field(pattern=r"^[A-Za-z0-9 _.:/=+@-]{1,128}$")]
TagValue = Annotated[str, Field(pattern=r"^[A-Za-z0-9 _.:/=+@-]{0,256}$")]


class Ec2Stack(Strict):
    """A stack on one EC2 instance."""

    name: StackName
    target: Literal["ec2"]
    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")] = "cn-northwest-1"
    instance: InstanceSpec
    model: ModelSpec
    engine: EngineSpec = EngineSpec()
    endpoint: Endpoint = TunnelEndpoint()
    network: NetworkSpec = NetworkSpec()
    access: AccessSpec = AccessSpec()
    lifetime: LifetimeSpec = LifetimeSpec()
    tags: dict[TagKey, TagValue] = {}


class LocalStack(Strict):
    """A stack on this machine."""

    name: StackName
    target: Literal["local"]
    model: ModelSpec
    engine: EngineSpec = EngineSpec()
    endpoint: TunnelEndpoint = TunnelEndpoint()


StackSpec = Annotated[Ec2Stack | LocalStack, Field(discriminator="target")]
