"""StackSpec: what a person writes, as strict Pydantic models. Positions and wording of errors live in load.py.

Every field has a description; `deployer schema` hands them to editors.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from deployer.spec.forms import INSTANCE_TYPE, SSH_USER, Form
from deployer.spec.values import parse_duration_seconds, parse_network

CacheType = Literal["f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"]
BuildName = Literal["auto", "graviton", "avx512", "cuda", "generic"]
OnOff = Literal["auto", "on", "off"]


def _duration(value: str) -> str:
    parse_duration_seconds(value)
    return value


def _no_control_characters(value: str) -> str:
    if re.search(r"[\x00-\x1f\x7f]", value):
        raise ValueError("control characters (line breaks, tabs …) are not accepted")
    return value


def _bastion(value: str) -> str:
    _, _, port = value.partition(":")
    if port and not 1 <= int(port) <= 65535:
        raise ValueError("the port must be between 1 and 65535")
    return value


# 32 keeps `deployer-<name>-role-<region>` inside IAM's 64 characters.
StackName = Annotated[
    str,
    Field(
        pattern=r"^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$",
        description="DNS label, at most 32 characters: lower case letters, digits and hyphens, starting with a letter.",
    ),
    Form("a name of lower case letters, digits and hyphens, starting with a letter, at most 32 characters"),
]
Cidr = Annotated[
    str,
    AfterValidator(parse_network),
    Field(description="A network such as 10.0.0.0/16, or one address such as 203.0.113.7/32."),
    Form("a network such as 10.0.0.0/16"),
]
Duration = Annotated[
    str,
    AfterValidator(_duration),
    Field(description="A whole number and a unit: 90m, 8h, 2d."),
    Form("a duration such as 90m, 8h or 2d"),
]
Text = Annotated[str, Field(min_length=1, max_length=1024), AfterValidator(_no_control_characters)]
Port = Annotated[int, Field(ge=1, le=65535)]
InstanceType = Annotated[str, Field(pattern=INSTANCE_TYPE), Form("an instance type such as g5.xlarge")]
FileName = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,200}\.gguf$", description="A GGUF file name, without folders."),
    Form("a GGUF file name such as model-Q4_K_M.gguf, without folders"),
]


class Strict(BaseModel):
    """Unknown keys are errors, values are not coerced across types, instances do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class RootVolume(Strict):
    """The instance's encrypted gp3 root volume."""

    size_gib: Annotated[
        Annotated[int, Field(ge=8, le=16384)] | Literal["auto"],
        Field(description="Size in GiB; `auto` fits image and weights."),
    ] = "auto"
    iops: Annotated[int, Field(ge=3000, le=80000, description="Provisioned IOPS; left out, gp3's base.")] | None = None
    throughput_mibs: (
        Annotated[int, Field(ge=125, le=2000, description="Throughput in MiB/s; left out, gp3's base.")] | None
    ) = None


class InstanceSpec(Strict):
    """Which EC2 instance; `fallbacks` are tried in order when AWS has no capacity for `type`."""

    type: Annotated[InstanceType, Field(description="EC2 instance type, e.g. g5.xlarge.")]
    fallbacks: Annotated[
        list[InstanceType], Field(description="Other types, tried in order when AWS has no capacity for `type`.")
    ] = []
    market: Annotated[Literal["on-demand", "spot"], Field(description="How the instance is bought.")] = "on-demand"
    ami: Annotated[
        Annotated[str, Field(pattern=r"^ami-[0-9a-f]{8,17}$"), Form("an image id such as ami-0123456789abcdef0")]
        | Literal["auto"],
        Field(description="Machine image; `auto` takes the newest one of AWS that fits the hardware."),
    ] = "auto"
    root_volume: RootVolume = RootVolume()


class ModelSpec(Strict):
    """A catalogue model (`name`, optionally `quant`), or any GGUF (`source` and `file`).

    `name` with `source` takes the catalogue's facts and another place to download from.
    source: modelscope://ORG/REPO, s3://BUCKET/PREFIX, https://HOST/PATH, file:///DIR (or file://~/DIR).
    """

    name: Annotated[Text, Field(description="A model of the catalogue, e.g. Qwen3.6-27B.")] | None = None
    quant: (
        Annotated[
            str,
            Field(pattern=r"^[A-Za-z0-9_-]+$", description="Which quantisation of the catalogue model, e.g. Q4_K_M."),
            Form("a quantisation such as Q4_K_M"),
        ]
        | None
    ) = None
    source: (
        Annotated[
            str,
            Field(
                pattern=r"^(modelscope|s3|https?|file)://.+$",
                description="Where the file lies: modelscope://ORG/REPO, s3://BUCKET/PREFIX, https://HOST/PATH, "
                "file:///DIR, file://~/DIR; a relative file:// folder counts from the spec's own folder.",
            ),
            AfterValidator(_no_control_characters),
            Form("modelscope://ORG/REPO, s3://BUCKET/PREFIX, https://HOST/PATH or file:///DIR"),
        ]
        | None
    ) = None
    file: FileName | None = None
    revision: Annotated[
        str,
        Field(pattern=r"^[A-Za-z0-9._-]+$", description="Branch, tag or commit of the model repository."),
        Form("a branch, tag or commit"),
    ] = "master"
    sha256: (
        Annotated[
            str,
            Field(pattern=r"^[0-9a-f]{64}$", description="The file's checksum; the download is refused if it differs."),
            Form("64 lower case hexadecimal digits"),
        ]
        | None
    ) = None
    alias: (
        Annotated[
            str,
            Field(
                pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/-]{0,100}$",
                description="The model's name in the API; left out, the catalogue name or the file name.",
            ),
            Form("letters, digits and . _ : / - (at most 101), starting with a letter or digit"),
        ]
        | None
    ) = None
    mtp_head: (
        Annotated[bool, Field(description="For a GGUF the catalogue does not know: does it carry an MTP head?")] | None
    ) = None


class MtpSpec(Strict):
    """Multi-token prediction. `auto` follows the hardware; the numbers override the default of the hardware."""

    mode: Annotated[OnOff, Field(description="`auto` decides by hardware and model.")] = "auto"
    draft_n_max: Annotated[int, Field(ge=1, le=16, description="Most tokens drafted for one step.")] | None = None
    draft_p_min: (
        Annotated[
            float,
            Field(
                ge=0.0,
                lt=1.0,
                strict=False,
                allow_inf_nan=False,
                description="Stop drafting below this probability.",
            ),
        ]
        | None
    ) = None


# Where one scalar stands for a mapping with that one key.
SHORTHANDS: dict[tuple[str | int, ...], str] = {("engine", "mtp"): "mode"}


def _mtp_shorthand(value: object) -> object:
    return value if isinstance(value, dict | MtpSpec) else {"mode": value}


class EngineSpec(Strict):
    """How llama.cpp is built and run."""

    runtime: Annotated[
        Literal["auto", "docker", "process"], Field(description="In a container, or as a plain process.")
    ] = "auto"
    build: Annotated[BuildName, Field(description="The llama.cpp flavour; `auto` follows the hardware.")] = "auto"
    image: Annotated[Text, Field(description="A container image of your own, for runtime docker.")] | None = None
    context: Annotated[int, Field(ge=256, le=1_048_576, description="Tokens for each slot.")] = 32768
    parallel: Annotated[int, Field(ge=1, le=64, description="Slots, i.e. requests served at once.")] = 1
    threads: Annotated[
        Annotated[int, Field(ge=1, le=512)] | Literal["auto"],
        Field(description="CPU threads; `auto` is the number of physical cores."),
    ] = "auto"
    cache_type_k: Annotated[CacheType, Field(description="Number format of the key cache.")] = "f16"
    cache_type_v: Annotated[
        CacheType, Field(description="Number format of the value cache; quantised ones need flash attention.")
    ] = "f16"
    flash_attention: Annotated[OnOff, Field(description="`auto` lets llama.cpp decide.")] = "auto"
    mtp: Annotated[
        MtpSpec,
        BeforeValidator(_mtp_shorthand, json_schema_input_type=OnOff | MtpSpec),
        Field(description="Multi-token prediction: auto, on, off, or a mapping with mode and draft settings."),
    ] = MtpSpec()
    extra_args: Annotated[
        list[Text],
        Field(description="More llama-server arguments, one word an entry; those deployer sets are refused."),
    ] = []


class TunnelEndpoint(Strict):
    """The server listens on the instance's loopback only; clients come through SSH."""

    expose: Annotated[
        Literal["tunnel"], Field(description="tunnel: loopback and SSH; private: inside the VPC; public: by address.")
    ] = "tunnel"
    port: Annotated[Port, Field(description="The port the server listens on.")] = 18080


class PrivateEndpoint(Strict):
    """The server listens inside the VPC for the networks in `allow`."""

    expose: Annotated[Literal["private"], Field(description="Reachable inside the VPC.")]
    port: Annotated[Port, Field(description="The port the server listens on.")] = 18080
    allow: Annotated[list[Cidr], Field(min_length=1, description="Networks that may connect.")]


class PublicEndpoint(Strict):
    """The server listens on a public address for the networks in `allow`."""

    expose: Annotated[Literal["public"], Field(description="Reachable from the internet, for `allow` only.")]
    port: Annotated[Port, Field(description="The port the server listens on.")] = 18080
    allow: Annotated[list[Cidr], Field(min_length=1, description="Networks that may connect.")]
    icp_filed: Annotated[
        bool, Field(description="In China, public 80, 443 and 8080 are blocked without an ICP filing.")
    ] = False


Endpoint = Annotated[
    TunnelEndpoint | PrivateEndpoint | PublicEndpoint,
    Field(discriminator="expose", description="Who can reach the server, and on which port."),
]


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


class LifetimeSpec(Strict):
    """ttl: the instance ends itself after that long; left out, it runs until `down`."""

    ttl: Duration | None = None


TagKey = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9 _.:/=+@-]{1,128}$"),
    Form("a tag key of letters, digits, spaces and _ . : / = + - @ (at most 128)"),
]
TagValue = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9 _.:/=+@-]{0,256}$"),
    Form("a tag value of letters, digits, spaces and _ . : / = + - @ (at most 256)"),
]


class Ec2Stack(Strict):
    """A stack on one EC2 instance."""

    name: StackName
    target: Annotated[Literal["ec2"], Field(description="Where it runs: ec2, or local for this machine.")]
    region: Annotated[
        str,
        Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]$", description="AWS region."),
        Form("a region such as cn-northwest-1"),
    ] = "cn-northwest-1"
    instance: InstanceSpec
    model: ModelSpec
    engine: EngineSpec = EngineSpec()
    endpoint: Endpoint = TunnelEndpoint()
    network: NetworkSpec = NetworkSpec()
    access: AccessSpec = AccessSpec()
    lifetime: LifetimeSpec = LifetimeSpec()
    tags: Annotated[
        dict[TagKey, TagValue],
        Field(max_length=40, description="Your own tags on everything taggable."),
    ] = {}


class LocalStack(Strict):
    """A stack on this machine."""

    name: StackName
    target: Annotated[Literal["local"], Field(description="This machine.")]
    model: ModelSpec
    engine: EngineSpec = EngineSpec()
    endpoint: TunnelEndpoint = TunnelEndpoint()


StackSpec = Annotated[Ec2Stack | LocalStack, Field(discriminator="target")]
