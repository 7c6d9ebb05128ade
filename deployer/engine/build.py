"""Hardware -> EngineBuild: the llama.cpp flavour and its cmake flags, as read in llama.cpp b11549's CMake files."""

from __future__ import annotations

from typing import Literal

from deployer.catalog.types import Hardware
from deployer.decide.types import EngineBuild

Name = Literal["graviton", "avx512", "cuda", "generic"]
NAMES: tuple[Name, ...] = ("graviton", "avx512", "cuda", "generic")

# Static, reproducible, and nothing downloaded while configuring: the UI would come from a host China does not reach.
_COMMON = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DGGML_NATIVE=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_APP=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
    "-DLLAMA_OPENSSL=ON",
)
_STATIC = "-DBUILD_SHARED_LIBS=OFF"
_AVX2 = ("-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON", "-DGGML_BMI2=ON")
_AVX512 = (
    ("avx512", "-DGGML_AVX512=ON"),
    ("avx512_vbmi", "-DGGML_AVX512_VBMI=ON"),
    ("avx512_vnni", "-DGGML_AVX512_VNNI=ON"),
    ("avx512_bf16", "-DGGML_AVX512_BF16=ON"),
)
_AMX = ("-DGGML_AMX_TILE=ON", "-DGGML_AMX_INT8=ON")
_PLAIN_PAIRS = frozenset({("f16", "f16"), ("bf16", "bf16"), ("q8_0", "q8_0"), ("q4_0", "q4_0")})


def natural_build(hardware: Hardware) -> Name:
    """The flavour made for this hardware; `generic` when none is."""
    if hardware.gpu is not None:
        return "cuda"
    return next((name for name in ("graviton", "avx512") if obstacle(name, hardware) is None), "generic")


def obstacle(name: Name, hardware: Hardware) -> str | None:
    """Why this flavour cannot run on the hardware, or None when it can."""
    match name:
        case "cuda" if hardware.gpu is None:
            return f"{hardware.name} has no NVIDIA GPU"
        case "graviton" if hardware.architecture != "arm64":
            return f"{hardware.name} is {hardware.architecture}, not arm64"
        case "graviton" if not {"sve", "i8mm", "bf16"} <= hardware.simd:
            return f"{hardware.cpu} lacks SVE, i8mm or bf16"
        case "avx512" if hardware.architecture != "x86_64":
            return f"{hardware.name} is {hardware.architecture}, not x86_64"
        case "avx512" if "avx512" not in hardware.simd:
            return f"{hardware.cpu} has no AVX-512"
        case _:
            return None


def engine_build(name: Name, hardware: Hardware, *, cache_types: tuple[str, str] = ("f16", "f16")) -> EngineBuild:
    """The flavour `name` with the flags for this hardware. Call obstacle() first.

    cache_types: K and V; CUDA compiles its flash-attention kernels for unusual pairs only when told to.
    """
    match name:
        case "graviton":
            flags, compiler = _graviton(hardware)
        case "avx512":
            flags, compiler = (*_COMMON, _STATIC, *_x86(hardware)), ()
        case "cuda":
            flags, compiler = (*_COMMON, _STATIC, *_cuda(hardware, cache_types)), ()
        case "generic":
            # One image for any CPU: every variant is built and the right one loaded at start.
            flags = (*_COMMON, "-DBUILD_SHARED_LIBS=ON", "-DGGML_BACKEND_DL=ON", "-DGGML_CPU_ALL_VARIANTS=ON")
            compiler = ()
    return EngineBuild(name=name, architecture=hardware.architecture, cmake_flags=flags, compiler_flags=compiler)


def _graviton(hardware: Hardware) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if "sve2" in hardware.simd:
        # Spelled out: gcc 12 does not know -mcpu=neoverse-v2, and armv9-a alone leaves i8mm out.
        return (*_COMMON, _STATIC, "-DGGML_CPU_ARM_ARCH=armv8.6-a+sve2+i8mm+bf16+dotprod+fp16"), ()
    # GGML_CPU_ARM_ARCH becomes -march, which takes no CPU names, so Graviton3's goes to the compiler.
    return (*_COMMON, _STATIC), ("-mcpu=neoverse-v1",)


def _x86(hardware: Hardware) -> tuple[str, ...]:
    wide = tuple(flag for feature, flag in _AVX512 if feature in hardware.simd)
    amx = _AMX if "amx" in hardware.simd else ()
    return (*_AVX2, *wide, *amx)


def _cuda(hardware: Hardware, cache_types: tuple[str, str]) -> tuple[str, ...]:
    assert hardware.gpu is not None
    architecture = hardware.gpu.compute_capability.replace(".", "")
    pairs = () if cache_types in _PLAIN_PAIRS else ("-DGGML_CUDA_FA_QUANTS=all",)
    host = _x86(hardware) if hardware.architecture == "x86_64" else ()
    return ("-DGGML_CUDA=ON", f"-DCMAKE_CUDA_ARCHITECTURES={architecture}", *pairs, *host)
