"""What the catalogue's data files hold, as frozen values. Units are in the names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Architecture = Literal["arm64", "x86_64"]


@dataclass(frozen=True)
class Gpu:
    """vram_mib and bandwidth_gbs are for one GPU; compute_capability like `8.6`."""

    name: str
    count: int
    vram_mib: int
    compute_capability: str
    bandwidth_gbs: float


@dataclass(frozen=True)
class Hardware:
    """What an instance type (or this machine) is.

    cores: physical cores. simd: names as in design.md (`neon`, `sve`, `sve2`, `i8mm`, `bf16`, `avx2`, `avx512`, `amx`).
    memory_bandwidth_gbs: peak host memory bandwidth share of this size, None when unknown.
    source: where the facts are from.
    """

    name: str
    family: str
    architecture: Architecture
    cpu: str
    vcpus: int
    cores: int
    memory_mib: int
    simd: frozenset[str]
    gpu: Gpu | None
    memory_bandwidth_gbs: float | None
    source: str


@dataclass(frozen=True)
class GgufFile:
    """One downloadable file. mtp_head None = unknown; size_bytes None = unknown (see size_estimate_bytes)."""

    quant: str
    file: str
    repo: str
    mtp_head: bool | None
    size_bytes: int | None
    size_estimate_bytes: int
    sha256: str | None
    source: str


@dataclass(frozen=True)
class ModelFacts:
    """One model's shape. architecture is GGUF's general.architecture (`qwen35`, `qwen35moe`).

    recurrent_state_bytes: delta-net state of one sequence. default_quant: what `model.name` alone means.
    mtp_layers: attention layers of the MTP head where a file carries one.
    """

    name: str
    architecture: str
    kind: Literal["dense", "moe"]
    layers: int
    full_attention_layers: int
    kv_heads: int
    head_dim: int
    hidden: int
    recurrent_state_bytes: int
    context_limit: int
    vocab: int
    alias: str
    default_quant: str
    files: tuple[GgufFile, ...]
    source: str
    attention_heads: int = 0
    mtp_layers: int = 1


@dataclass(frozen=True)
class Partition:
    """Everything that differs between AWS partitions.

    principals: service -> every accepted principal, the first is the one for trust policies.
    endpoints: service -> URL where the rule `https://SERVICE.REGION.SUFFIX` does not hold.
    doubtful_public_ports: not known to be blocked, better avoided. regions: examples for messages, not a full list.
    """

    name: str
    dns_suffix: str
    region_pattern: str
    iam_region: str
    principals: Mapping[str, tuple[str, ...]]
    image_owners: Mapping[str, str]
    console_url: str
    docs_url: str
    own_address_url: str
    blocked_public_ports: tuple[int, ...]
    source: str
    endpoints: Mapping[str, str] = field(default_factory=dict)
    doubtful_public_ports: tuple[int, ...] = ()
    pricing_region: str = ""
    regions: tuple[str, ...] = ()
