"""What this machine is: architecture, cores, SIMD, memory and GPU, as Hardware.

Linux: /proc and cgroup limits. macOS: sysctl. GPUs: nvidia-smi when it is there, and only those that the
installed llama-server can use.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from deployer.catalog.types import Architecture, Gpu, Hardware
from deployer.errors import RefusedError
from deployer.targets.local_engine import find_llama_server

_MIB = 1 << 20
#: flag in /proc/cpuinfo -> the catalogue's name.
_X86_SIMD = {"avx2": "avx2", "avx512f": "avx512", "amx_tile": "amx"}
_ARM_SIMD = {"asimd": "neon", "sve": "sve", "sve2": "sve2", "i8mm": "i8mm", "bf16": "bf16"}
#: sysctl on Apple silicon -> the catalogue's name.
_APPLE_SIMD = {"hw.optional.arm.FEAT_I8MM": "i8mm", "hw.optional.arm.FEAT_BF16": "bf16"}
_GPU_QUERY = ("--query-gpu=name,memory.total,compute_cap", "--format=csv,noheader,nounits")
_CUDA_DEVICE = re.compile(r"^\s*CUDA\d+:", re.MULTILINE)

Run = Callable[[list[str]], str | None]


def run(argv: list[str]) -> str | None:
    """A program's standard output, None when it is missing, fails or takes longer than 10 s."""
    if shutil.which(argv[0]) is None:
        return None
    try:
        answer = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout if answer.returncode == 0 else None


def detect(
    environ: Mapping[str, str] = os.environ,
    *,
    root: Path = Path("/"),
    system: str | None = None,
    machine: str | None = None,
    run: Run = run,
) -> Hardware:
    """Look at this machine. environ: names the llama-server whose GPUs count. The others: where facts are read from.

    memory_bandwidth_gbs is None, and a GPU has bandwidth 0: neither is measured here.
    Raises RefusedError for a processor that is neither arm64 nor x86_64.
    """
    found = _architecture(machine or platform.machine())
    if (system or platform.system()) == "Darwin":
        cpu, cores, vcpus, memory, simd = _darwin(found, run)
    else:
        cpu, cores, vcpus, memory, simd = _linux(found, root)
    present = _gpu(run(["nvidia-smi", *_GPU_QUERY]))
    usable = _usable(present, environ, run)
    source = "detected on this machine"
    if present is not None and usable is None:
        source += f"; its llama-server cannot use the {present.name}"
    return Hardware(
        name="local",
        family="local",
        architecture=found,
        cpu=cpu,
        vcpus=vcpus,
        cores=min(cores, vcpus),
        memory_mib=memory // _MIB,
        simd=simd,
        gpu=usable,
        memory_bandwidth_gbs=None,
        source=source,
    )


def _usable(present: Gpu | None, environ: Mapping[str, str], run: Run) -> Gpu | None:
    """The GPUs that llama-server lists: a build without GPU code takes every GPU flag and computes on the CPU."""
    if present is None:
        return None
    try:
        listed = run([find_llama_server(environ), "--list-devices"])
    except RefusedError:
        return present
    if listed is None:
        return present
    count = len(_CUDA_DEVICE.findall(listed))
    return replace(present, count=min(present.count, count)) if count else None


def _architecture(machine: str) -> Architecture:
    match machine.lower():
        case "arm64" | "aarch64":
            return "arm64"
        case "x86_64" | "amd64":
            return "x86_64"
        case other:
            raise RefusedError(
                f"this machine's processor is {other}; llama.cpp stacks are made for arm64 and x86_64",
                hint="use a spec with target: ec2",
            )


def _linux(architecture: Architecture, root: Path) -> tuple[str, int, int, int, frozenset[str]]:
    text = _read(root / "proc/cpuinfo")
    blocks = [dict(_FIELD.findall(block)) for block in text.split("\n\n") if block.strip()]
    first = blocks[0] if blocks else {}
    flags = (first.get("flags") or first.get("Features") or "").split()
    names = _X86_SIMD if architecture == "x86_64" else _ARM_SIMD
    # Arm lists neither sockets nor cores: one thread is one core there.
    pairs = {(b["physical id"], b["core id"]) for b in blocks if "physical id" in b and "core id" in b}
    processors = len(blocks) or os.cpu_count() or 1
    return (
        first.get("model name") or first.get("CPU part") or architecture,
        len(pairs) or processors,
        min(processors, _cpu_quota(root) or processors, _allowed(root) or processors),
        min(_memory(root), _memory_limit(root) or _memory(root)),
        frozenset(names[flag] for flag in flags if flag in names),
    )


_FIELD = re.compile(r"^([^\t:\n]+?)[ \t]*:[ \t]*(.*)$", re.MULTILINE)


def _allowed(root: Path) -> int | None:
    """Processors this process may run on: a container's cpuset or taskset."""
    match = re.search(r"^Cpus_allowed_list:\s*(\S+)$", _read(root / "proc/self/status"), re.MULTILINE)
    if match is None:
        return None
    ranges = [part.partition("-") for part in match[1].split(",")]
    return sum(int(last or first) - int(first) + 1 for first, _, last in ranges)


def _cpu_quota(root: Path) -> int | None:
    """Whole processors of a container's CPU limit (cgroup v2)."""
    quota, _, period = _read(root / "sys/fs/cgroup/cpu.max").strip().partition(" ")
    return max(1, int(quota) // int(period)) if quota.isdigit() and period.isdigit() else None


def _memory(root: Path) -> int:
    match = re.search(r"^MemTotal:\s+(\d+) kB", _read(root / "proc/meminfo"), re.MULTILINE)
    return int(match[1]) * 1024 if match else 0


def _memory_limit(root: Path) -> int | None:
    """A container's memory limit in bytes (cgroup v2)."""
    text = _read(root / "sys/fs/cgroup/memory.max").strip()
    return int(text) if text.isdigit() else None


def _darwin(architecture: Architecture, run: Run) -> tuple[str, int, int, int, frozenset[str]]:
    def ask(name: str) -> str:
        return (run(["sysctl", "-n", name]) or "").strip()

    if architecture == "arm64":
        simd = {"neon", *(name for key, name in _APPLE_SIMD.items() if ask(key) == "1")}
    else:
        features = ask("machdep.cpu.leaf7_features").split()
        simd = {name for flag, name in (("AVX2", "avx2"), ("AVX512F", "avx512")) if flag in features}
    return (
        ask("machdep.cpu.brand_string") or architecture,
        int(ask("hw.physicalcpu") or 1),
        int(ask("hw.logicalcpu") or 1),
        int(ask("hw.memsize") or 0),
        frozenset(simd),
    )


def _gpu(answer: str | None) -> Gpu | None:
    """The GPUs of the first kind that nvidia-smi lists: a model is not split over different kinds."""
    rows = [[cell.strip() for cell in line.split(",")] for line in (answer or "").splitlines()]
    rows = [row for row in rows if len(row) == 3 and row[1].isdigit()]
    if not rows:
        return None
    name, memory, capability = rows[0]
    return Gpu(name, sum(row == rows[0] for row in rows), int(memory), capability, bandwidth_gbs=0.0)


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
