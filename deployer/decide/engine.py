"""How llama.cpp is built and run: build, runtime, image, dialect, threads, attention, cache types, extra arguments."""

from __future__ import annotations

from typing import Literal

from deployer.catalog import registry
from deployer.catalog.source import cite
from deployer.catalog.types import Hardware
from deployer.decide.findings import Findings
from deployer.decide.types import Decision, EngineBuild
from deployer.engine.build import NAMES, engine_build, natural_build, obstacle
from deployer.engine.dialect import Dialect, parse
from deployer.engine.extra_args import names_used
from deployer.spec.load import LoadedSpec
from deployer.spec.models import EngineSpec, LocalStack

Runtime = Literal["docker", "process"]
_UNQUANTISED = frozenset({"f32", "f16", "bf16"})


def choose_build(loaded: LoadedSpec, hardware: Hardware) -> tuple[EngineBuild, Decision]:
    """Raises a located SpecError when the named build cannot run on the hardware."""
    spec = loaded.spec.engine
    natural = natural_build(hardware)
    name = natural if spec.build == "auto" else spec.build
    why_not = obstacle(name, hardware)
    if why_not is not None:
        raise loaded.error(
            ("engine", "build"), f"the {name} build cannot run here: {why_not}", f"use {natural}, or auto"
        )
    build = engine_build(name, hardware, cache_types=(spec.cache_type_k, spec.cache_type_v))
    others = [other for other in NAMES if other != name and obstacle(other, hardware) is None]
    reason, source = (
        (_build_reason(name, hardware), "rule: hardware") if spec.build == "auto" else ("the spec says so", "spec")
    )
    return build, Decision("build", name, reason, source, f"engine.build: {', '.join(others)}" if others else None)


def choose_runtime(loaded: LoadedSpec) -> tuple[Runtime, Decision]:
    """Docker on EC2, a process on this machine, or what the spec says."""
    wanted = loaded.spec.engine.runtime
    if wanted != "auto":
        return wanted, Decision("runtime", wanted, "the spec says so", "spec")
    if isinstance(loaded.spec, LocalStack):
        return "process", Decision("runtime", "process", "this machine's own llama-server", "rule: target")
    reason = "the image brings llama.cpp built for this hardware; nothing is compiled on the instance"
    return "docker", Decision("runtime", "docker", reason, "rule: target", "engine.runtime: process")


def choose_image(
    spec: EngineSpec, runtime: Runtime, build: EngineBuild, dialect: Dialect
) -> tuple[str | None, Decision]:
    """The container image; None for a process, and until AWS was asked for the account's own."""
    if runtime == "process":
        return None, Decision("image", None, "no container: llama-server is a program on the machine", "rule: runtime")
    if spec.image is not None:
        reason = "the spec says so"
        if not registry.is_pinned(spec.image):
            reason += "; it names no @sha256 digest, so whoever can push there decides what runs"
        return spec.image, Decision("image", spec.image, reason, "spec")
    # Never a name of a public registry: whoever owns it there would decide what runs. The account is known online only.
    image = f"{registry.own_repository()}:{image_tag(build, dialect.build)}"
    value = f"{image} in the account's ECR (looked up by up)"
    reason = f"the {build.name} Dockerfile's image, pinned by digest once found; AWS's own container is asked for next"
    return None, Decision("image", value, reason, "rule: image", "engine.image")


def image_tag(build: EngineBuild, dialect: str) -> str:
    """The tag under which the build's image is pushed and looked for."""
    return registry.recipe_tag(build.name, dialect, (*build.cmake_flags, *build.compiler_flags))


def choose_threads(spec: EngineSpec, hardware: Hardware) -> tuple[int, Decision]:
    """Physical cores: decoding is bound by memory, and a second thread on a core only adds waiting."""
    if spec.threads != "auto":
        return spec.threads, Decision("threads", spec.threads, "the spec says so", "spec")
    if hardware.vcpus > hardware.cores:
        reason = f"{hardware.cores} physical cores behind {hardware.vcpus} vCPUs; memory limits decoding, not threads"
    else:
        reason = f"every vCPU is a core ({hardware.cores})"
    return hardware.cores, Decision("threads", hardware.cores, reason, "rule: physical cores", "engine.threads")


def choose_flash_attention(spec: EngineSpec, hardware: Hardware) -> tuple[str, Decision]:
    """The value of -fa."""
    if spec.flash_attention != "auto":
        return spec.flash_attention, Decision("flash_attention", spec.flash_attention, "the spec says so", "spec")
    if spec.cache_type_v not in _UNQUANTISED:
        reason = f"a {spec.cache_type_v} V cache needs it"
        return "on", Decision("flash_attention", "on", reason, "llama.cpp: refuses to start otherwise")
    if hardware.gpu is not None:
        reason = f"{hardware.gpu.name} has the kernels, and the memory estimate relies on it"
        return "on", Decision("flash_attention", "on", reason, "rule: GPU", "engine.flash_attention: off")
    return "auto", Decision("flash_attention", "auto", "llama.cpp decides for the CPU at start", "llama.cpp default")


def describe_dialect(dialect: Dialect) -> Decision:
    """The llama.cpp build whose flags are written."""
    reason = "the llama.cpp build that the images hold; its flags are checked before anything starts"
    return Decision("dialect", dialect.build, reason, cite("dialects"))


def describe_cache_types(spec: EngineSpec) -> Decision:
    """K and V cache types."""
    value = f"{spec.cache_type_k}/{spec.cache_type_v}"
    if value == "f16/f16":
        return Decision(
            "cache_types", value, "exact; the default", "default", "q8_0 halves the KV cache, nearly without loss"
        )
    return Decision("cache_types", value, "the spec says so", "spec", "f16/f16")


def describe_shape(spec: EngineSpec) -> tuple[Decision, Decision]:
    """Context and slots. -c is their product: llama.cpp divides it by -np."""
    total = f"{spec.context} tokens for each of {spec.parallel} slot(s)"
    return (
        Decision("context", spec.context, f"{total}; passed as their product", "spec or default", "engine.context"),
        Decision("parallel", spec.parallel, "requests served at once; each slot has its own cache", "spec or default"),
    )


def check_context(loaded: LoadedSpec, limit: int, dialect: Dialect) -> None:
    """Raises a located SpecError for more context than the model was trained for, unless positions are scaled."""
    spec = loaded.spec.engine
    if limit and spec.context > limit and "--rope-scaling" not in names_used(spec.extra_args, dialect):
        message = f"the model was trained for {limit} tokens, {spec.context} are asked for"
        raise loaded.error(
            ("engine", "context"), message, f"engine.context: {limit}, or scale with --rope-scaling yarn"
        )


def check_mtp_arguments(loaded: LoadedSpec, dialect: Dialect) -> None:
    """Raises one SpecError with every extra argument that MTP rules out; all others were refused with the spec."""
    findings = Findings()
    uses, _ = parse(loaded.spec.engine.extra_args, dialect)
    for use in uses:
        if "--split-mode" in use.flag.names and use.values == ("tensor",):
            message = f"`{use.name} tensor` crashes with MTP; use layer, or set engine.mtp: off"
            findings.add(loaded.error(("engine", "extra_args", use.index), message))
    findings.raise_if_any()


def _build_reason(name: str, hardware: Hardware) -> str:
    match name:
        case "cuda":
            assert hardware.gpu is not None
            return f"{hardware.gpu.name} (compute capability {hardware.gpu.compute_capability})"
        case "graviton" | "avx512":
            used = [feature for feature in ("sve2", "sve", "i8mm", "bf16", "avx512", "amx") if feature in hardware.simd]
            return f"{hardware.cpu} has {', '.join(used)}"
        case _:
            return f"nothing is known of {hardware.cpu} that a tuned build needs; all CPU variants, chosen at start"
