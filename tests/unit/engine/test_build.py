from __future__ import annotations

import pytest

from deployer.catalog import hardware
from deployer.engine.build import NAMES, engine_build, natural_build, obstacle
from tests.unit.engine.helpers import machine


@pytest.mark.parametrize(
    ("instance", "name"),
    [
        ("c7g.4xlarge", "graviton"),
        ("c8g.4xlarge", "graviton"),
        ("m8g.metal-48xl", "graviton"),
        ("c7i.large", "avx512"),
        ("c8i.4xlarge", "avx512"),
        ("r8i-flex.xlarge", "avx512"),
        ("g4dn.xlarge", "cuda"),
        ("g5.xlarge", "cuda"),
        ("g6e.48xlarge", "cuda"),
    ],
)
def test_natural(instance: str, name: str) -> None:
    assert natural_build(machine(instance)) == name


@pytest.mark.parametrize(
    ("instance", "flags"),
    [
        ("c8g.4xlarge", ["-DGGML_NATIVE=OFF", "-DGGML_CPU_ARM_ARCH=armv8.6-a+sve2+i8mm+bf16+dotprod+fp16"]),
        ("c8i.4xlarge", ["-DGGML_AVX512=ON", "-DGGML_AVX512_BF16=ON", "-DGGML_AMX_TILE=ON", "-DGGML_AMX_INT8=ON"]),
        ("c7i.4xlarge", ["-DGGML_AVX512_VNNI=ON", "-DGGML_AMX_INT8=ON", "-DGGML_AVX2=ON"]),
        ("g4dn.xlarge", ["-DGGML_CUDA=ON", "-DCMAKE_CUDA_ARCHITECTURES=75", "-DGGML_AVX512=ON"]),
        ("g5.xlarge", ["-DGGML_CUDA=ON", "-DCMAKE_CUDA_ARCHITECTURES=86"]),
        ("g6.xlarge", ["-DCMAKE_CUDA_ARCHITECTURES=89"]),
        ("g6e.xlarge", ["-DCMAKE_CUDA_ARCHITECTURES=89"]),
    ],
)
def test_flags(instance: str, flags: list[str]) -> None:
    build = engine_build(natural_build(machine(instance)), machine(instance))
    assert set(flags) <= set(build.cmake_flags)


def test_graviton3_is_named_to_the_compiler() -> None:
    # GGML_CPU_ARM_ARCH becomes -march, which takes no CPU name.
    build = engine_build("graviton", machine("c7g.4xlarge"))
    assert build.compiler_flags == ("-mcpu=neoverse-v1",)
    assert not any("ARM_ARCH" in flag for flag in build.cmake_flags)


def test_no_avx512_for_amd_hosts() -> None:
    assert not any("AVX512" in flag for flag in engine_build("cuda", machine("g5.xlarge")).cmake_flags)


@pytest.mark.parametrize(
    ("pair", "all_kernels"),
    [(("f16", "f16"), False), (("q8_0", "q8_0"), False), (("q4_0", "q4_0"), False), (("q8_0", "q4_0"), True)],
)
def test_unusual_cache_pairs_need_more_cuda_kernels(pair: tuple[str, str], all_kernels: bool) -> None:
    build = engine_build("cuda", machine("g5.xlarge"), cache_types=pair)
    assert ("-DGGML_CUDA_FA_QUANTS=all" in build.cmake_flags) is all_kernels


@pytest.mark.parametrize("instance", hardware.all_types())
def test_every_type_has_a_build_that_runs(instance: str) -> None:
    here = machine(instance)
    name = natural_build(here)
    assert name != "generic"
    assert obstacle(name, here) is None
    assert obstacle("generic", here) is None
    build = engine_build(name, here)
    keys = [flag.split("=")[0] for flag in build.cmake_flags]
    assert len(keys) == len(set(keys))
    assert "-DLLAMA_USE_PREBUILT_UI=OFF" in build.cmake_flags
    assert build.architecture == here.architecture


@pytest.mark.parametrize(
    ("name", "instance", "why"),
    [
        ("cuda", "c8g.4xlarge", "no NVIDIA GPU"),
        ("graviton", "c8i.4xlarge", "not arm64"),
        ("avx512", "c8g.4xlarge", "not x86_64"),
        ("avx512", "g5.xlarge", "no AVX-512"),
    ],
)
def test_obstacles(name: str, instance: str, why: str) -> None:
    assert name in NAMES
    assert why in (obstacle(name, machine(instance)) or "")  # type: ignore[arg-type]


def test_dispatch_and_a_fixed_architecture_exclude_each_other() -> None:
    flags = engine_build("generic", machine("c8g.4xlarge")).cmake_flags
    assert "-DGGML_CPU_ALL_VARIANTS=ON" in flags
    assert not any("ARM_ARCH" in flag for flag in flags)
