"""StackSpec: what a person writes, as strict Pydantic models. Positions and wording of errors live in load.py.

Every field has a description; `deployer schema` hands them to editors.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from deployer.spec.fields import (
    BuildName,
    CacheType,
    Duration,
    FileName,
    IdleTime,
    InstanceType,
    OnOff,
    StackName,
    Strict,
    TagKey,
    TagValue,
    Text,
    no_control_characters,
)
from deployer.spec.forms import Form
from deployer.spec.network import AccessSpec, Endpoint, NetworkSpec, TunnelEndpoint


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
    market: Annotated[
        Literal["on-demand", "spot", "spot-first"],
        Field(description="How the instance is bought; spot-first takes on-demand when no place has spot capacity."),
    ] = "on-demand"
    ami: Annotated[
        Annotated[str, Field(pattern=r"^ami-[0-9a-f]{8,17}$"), Form("an image id such as ami-0123456789abcdef0")]
        | Literal["auto"],
        Field(description="Machine image; `auto` takes the newest one of AWS that fits the hardware."),
    ] = "auto"
    root_volume: RootVolume = RootVolume()

    @property
    def markets(self) -> tuple[Literal["on-demand", "spot"], ...]:
        """Where to buy, in the order in which they are tried."""
        return ("spot", "on-demand") if self.market == "spot-first" else (self.market,)


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
            AfterValidator(no_control_characters),
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
    tune: Annotated[
        Literal["off", "on-first-boot"],
        Field(
            description="`on-first-boot`: before it is ready, the machine measures MTP and thread counts and keeps "
            "the fastest; needs mtp auto."
        ),
    ] = "off"
    extra_args: Annotated[
        list[Text],
        Field(description="More llama-server arguments, one word an entry; those deployer sets are refused."),
    ] = []


class LifetimeSpec(Strict):
    """ttl: the instance ends itself after that long. idle: after that long without a request.

    Without both it runs until `down`.
    """

    ttl: Duration | None = None
    idle: IdleTime | None = None


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
