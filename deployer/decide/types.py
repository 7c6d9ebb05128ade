"""The outcome of deciding: a Deployment, and the Decisions that explain it. Pure values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from deployer.catalog.types import Hardware, ModelFacts, Partition
from deployer.spec.models import Ec2Stack, LocalStack


@dataclass(frozen=True)
class Decision:
    """One automatic choice. source: `spec`, a catalogue file, a facts page, or the rule's name."""

    name: str
    value: str | int | float | bool | None
    reason: str
    source: str
    alternative: str | None = None


@dataclass(frozen=True)
class EngineBuild:
    """A llama.cpp flavour. cmake_flags: as passed to cmake, in order. base: image family of its Dockerfile."""

    name: Literal["graviton", "avx512", "cuda", "generic"]
    architecture: str
    cmake_flags: tuple[str, ...]
    compiler_flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class MtpChoice:
    """enabled False leaves every speculative flag out of argv (values accumulate in llama.cpp)."""

    enabled: bool
    draft_n_max: int
    draft_p_min: float


@dataclass(frozen=True)
class MemoryFit:
    """parts: name -> bytes, summing to need_bytes. where: the memory that limits.
    nearest: the closest setting that fits.
    """

    fits: bool
    where: Literal["vram", "ram"]
    need_bytes: int
    have_bytes: int
    parts: tuple[tuple[str, int], ...]
    nearest: str | None


@dataclass(frozen=True)
class WeightSource:
    """One place to download from. url: http(s):// or file://, final. listing_url: a hub API answering with the file's
    size and sha256 (ModelScope's repo/files document), None when there is none. s3: (bucket, key) when it is S3."""

    kind: Literal["modelscope", "s3", "https", "file"]
    url: str
    listing_url: str | None = None
    listing_path: str | None = None


@dataclass(frozen=True)
class Weights:
    """The GGUF this stack serves. size_bytes is an estimate when size_exact is False."""

    file: str
    sources: tuple[WeightSource, ...]
    sha256: str | None
    size_bytes: int
    size_exact: bool
    mtp_head: bool | None
    facts: ModelFacts | None


@dataclass(frozen=True)
class BoxPaths:
    """Where things lie on the machine that runs the engine; absolute POSIX paths."""

    weights_dir: str = "/var/lib/deployer/weights"
    state_dir: str = "/var/lib/deployer"
    api_key_file: str = "/run/deployer/api-key"
    tls_key_file: str = "/run/deployer/tls-key.pem"
    tls_certificate_file: str = "/run/deployer/tls-certificate.pem"
    engine_log: str = "/var/log/deployer/engine.log"
    console: str = "/dev/console"


@dataclass(frozen=True)
class EngineChoice:
    """argv: everything after the program's name, final for BoxPaths."""

    runtime: Literal["docker", "process"]
    build: EngineBuild
    image: str | None
    dialect: str
    argv: tuple[str, ...]
    alias: str
    host: str
    port: int
    context: int
    parallel: int
    threads: int
    mtp: MtpChoice


@dataclass(frozen=True)
class Deployment:
    """A StackSpec with everything decided. partition is None for a local stack.

    spec_digest: sha256 hex of the normalised spec, 16 characters. root_volume_gib 0, ssh_user empty: local.
    """

    spec: Ec2Stack | LocalStack
    spec_digest: str
    hardware: Hardware
    partition: Partition | None
    engine: EngineChoice
    weights: Weights
    memory: MemoryFit
    paths: BoxPaths
    root_volume_gib: int
    decisions: tuple[Decision, ...]
    ssh_user: str = ""
