from __future__ import annotations

import sys
from pathlib import Path

import pytest

from deployer.errors import RefusedError
from deployer.targets.local_engine import find_llama_server
from deployer.targets.local_hardware import detect

GRAVITON = """processor\t: {n}
BogoMIPS\t: 2000.00
Features\t: fp asimd evtstrm aes crc32 sve asimddp sve2 i8mm bf16
CPU implementer\t: 0x41
CPU part\t: 0xd4f
"""
XEON = """processor\t: {n}
model name\t: Intel(R) Xeon(R) 6975P-C
physical id\t: 0
core id\t\t: {core}
flags\t\t: fpu avx avx2 avx512f avx512_bf16 amx_bf16 amx_tile
"""
MEMINFO = "MemTotal:       32000000 kB\nMemFree:        100 kB\n"
NO_PROGRAM = {"PATH": "/nowhere"}


def _root(tmp_path: Path, cpuinfo: str, **files: str) -> Path:
    for name, text in {"proc/cpuinfo": cpuinfo, "proc/meminfo": MEMINFO, **files}.items():
        path = tmp_path / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def _detect(root, machine, *, run=lambda _argv: None, environ=NO_PROGRAM, system="Linux"):
    return detect(environ, root=root, system=system, machine=machine, run=run)


def test_graviton(tmp_path):
    found = _detect(_root(tmp_path, "\n".join(GRAVITON.format(n=n) for n in range(8))), "aarch64")
    assert (found.architecture, found.vcpus, found.cores) == ("arm64", 8, 8)
    assert found.simd == {"neon", "sve", "sve2", "i8mm", "bf16"}
    assert found.memory_mib == 31250
    assert found.gpu is None


def test_xeon_with_hyperthreads(tmp_path):
    found = _detect(_root(tmp_path, "\n".join(XEON.format(n=n, core=n // 2) for n in range(8))), "x86_64")
    assert (found.architecture, found.vcpus, found.cores) == ("x86_64", 8, 4)
    assert found.simd == {"avx2", "avx512", "amx"}
    assert found.cpu == "Intel(R) Xeon(R) 6975P-C"


def test_a_containers_limits_count(tmp_path):
    root = _root(
        tmp_path,
        "\n".join(XEON.format(n=n, core=n // 2) for n in range(8)),
        sys__fs__cgroup__cpu_max="",
        proc__self__status="Cpus_allowed_list:\t0-2,5\n",
    )
    (root / "sys/fs/cgroup").mkdir(parents=True, exist_ok=True)
    (root / "sys/fs/cgroup/memory.max").write_text("2147483648\n")
    found = _detect(root, "x86_64")
    assert (found.vcpus, found.cores, found.memory_mib) == (4, 4, 2048)
    (root / "sys/fs/cgroup/cpu.max").write_text("150000 100000\n")
    found = _detect(root, "x86_64")
    assert (found.vcpus, found.cores) == (1, 1)


def test_a_mac():
    answers = {
        "machdep.cpu.brand_string": "Apple M3",
        "hw.physicalcpu": "8",
        "hw.logicalcpu": "8",
        "hw.memsize": str(24 << 30),
        "hw.optional.arm.FEAT_I8MM": "1",
        "hw.optional.arm.FEAT_BF16": "0",
    }
    found = _detect(Path("/none"), "arm64", run=lambda argv: answers.get(argv[-1]), system="Darwin")
    assert (found.cpu, found.cores, found.memory_mib) == ("Apple M3", 8, 24576)
    assert found.simd == {"neon", "i8mm"}


def test_another_processor_is_refused(tmp_path):
    with pytest.raises(RefusedError, match="riscv64"):
        _detect(tmp_path, "riscv64")


SMI = "NVIDIA A10G, 23028, 8.6\nNVIDIA A10G, 23028, 8.6\nTesla T4, 15360, 7.5\n"
LISTED = "Available devices:\n  CUDA0: NVIDIA A10G (22515 MiB, 22290 MiB free)\n"


@pytest.mark.parametrize(
    ("listed", "count"), [(LISTED, 1), (LISTED + LISTED[19:], 2), ("Available devices:\n  (none)\n", 0), (None, 2)]
)
def test_only_gpus_that_llama_server_can_use(tmp_path, listed, count):
    program = tmp_path / "llama-server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    root = _root(tmp_path, GRAVITON.format(n=0))

    def run(argv: list[str]) -> str | None:
        return SMI if argv[0] == "nvidia-smi" else listed

    found = _detect(root, "aarch64", run=run, environ={"DEPLOYER_LLAMA_SERVER": str(program)})
    assert (found.gpu.count if found.gpu else 0) == count
    if found.gpu:
        assert (found.gpu.name, found.gpu.vram_mib, found.gpu.compute_capability) == ("NVIDIA A10G", 23028, "8.6")
    else:
        assert "cannot use the NVIDIA A10G" in found.source


@pytest.mark.parametrize("answer", ["", "No devices were found\n", "NVIDIA X, [N/A], 9.0\n"])
def test_nvidia_smi_that_knows_nothing(tmp_path, answer):
    root = _root(tmp_path, GRAVITON.format(n=0))
    assert _detect(root, "aarch64", run=lambda _: answer).gpu is None


def test_this_machine():
    found = detect()
    assert found.cores >= 1
    assert found.memory_mib > 256


def _program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_which_llama_server(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv/bin/python"))
    with pytest.raises(RefusedError, match="no llama-server") as raised:
        find_llama_server({"PATH": str(tmp_path)})
    assert "rehearsal" in raised.value.hint
    ours = _program(tmp_path / "venv/bin/deployer-llama-server")
    assert find_llama_server({"PATH": str(tmp_path)}) == str(ours)
    installed = _program(tmp_path / "bin/llama-server")
    assert find_llama_server({"PATH": str(tmp_path / "bin")}) == str(installed)
    named = _program(tmp_path / "mine/server")
    assert find_llama_server({"PATH": str(tmp_path / "bin"), "DEPLOYER_LLAMA_SERVER": str(named)}) == str(named)
    with pytest.raises(RefusedError, match="no executable file"):
        find_llama_server({"PATH": str(tmp_path / "bin"), "DEPLOYER_LLAMA_SERVER": str(tmp_path / "gone")})
