"""Regenerate deployer/catalog/data/hardware.json: sizes from EC2's own type data, the rest from FAMILIES.

    python bench/make_hardware_catalog.py [--check]

Sizes (vCPU, cores, memory, GPUs and their memory) are what DescribeInstanceTypes answers, as moto carries it. What that
call does not say (SIMD, bandwidths, compute capability) is kept in FAMILIES and GPUS below, each with its source.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import moto.ec2

OUT = Path(__file__).parent.parent / "deployer/catalog/data/hardware.json"
DATE = "2026-11-30"

GRAVITON3 = {
    "cpu": "AWS Graviton3 (Neoverse V1)",
    "simd": ["neon", "dotprod", "fp16", "sve", "i8mm", "bf16"],
    "cores_per_socket": 64,
    "socket_bandwidth_gbs": 307.2,
    "bandwidth_source": "8 channels DDR5-4800",
}
GRAVITON4 = {
    "cpu": "AWS Graviton4 (Neoverse V2)",
    "simd": ["neon", "dotprod", "fp16", "sve", "sve2", "i8mm", "bf16"],
    "cores_per_socket": 96,
    "socket_bandwidth_gbs": 537.6,
    "bandwidth_source": "12 channels DDR5-5600",
}
SAPPHIRE_RAPIDS = {
    "cpu": "Intel Xeon Platinum 8488C (Sapphire Rapids)",
    "simd": ["avx2", "fma", "f16c", "bmi2", "avx512", "avx512_vbmi", "avx512_vnni", "avx512_bf16", "amx"],
    "cores_per_socket": 48,
    "socket_bandwidth_gbs": 307.2,
    "bandwidth_source": "8 channels DDR5-4800",
}
GRANITE_RAPIDS = {
    "cpu": "Intel Xeon 6975P-C (Granite Rapids)",
    "simd": ["avx2", "fma", "f16c", "bmi2", "avx512", "avx512_vbmi", "avx512_vnni", "avx512_bf16", "amx"],
    "cores_per_socket": 96,
    "socket_bandwidth_gbs": 691.2,
    "bandwidth_source": "12 channels DDR5-7200",
}
CASCADE_LAKE = {
    "cpu": "Intel Xeon Platinum 8259CL (Cascade Lake)",
    "simd": ["avx2", "fma", "f16c", "bmi2", "avx512", "avx512_vnni"],
    "cores_per_socket": 24,
    "socket_bandwidth_gbs": 140.8,
    "bandwidth_source": "6 channels DDR4-2933",
}
ROME = {
    "cpu": "AMD EPYC 7R32 (Rome)",
    "simd": ["avx2", "fma", "f16c", "bmi2"],
    "cores_per_socket": 48,
    "socket_bandwidth_gbs": 204.8,
    "bandwidth_source": "8 channels DDR4-3200",
}
MILAN = {**ROME, "cpu": "AMD EPYC 7R13 (Milan)"}

FAMILIES: dict[str, dict[str, Any]] = {
    "c7g": GRAVITON3,
    "c8g": GRAVITON4,
    "m8g": GRAVITON4,
    "r8g": GRAVITON4,
    "c7i": SAPPHIRE_RAPIDS,
    "c8i": GRANITE_RAPIDS,
    "c8i-flex": GRANITE_RAPIDS,
    "m8i": GRANITE_RAPIDS,
    "m8i-flex": GRANITE_RAPIDS,
    "r8i": GRANITE_RAPIDS,
    "r8i-flex": GRANITE_RAPIDS,
    "g4dn": CASCADE_LAKE,
    "g5": ROME,
    "g6": MILAN,
    "g6e": MILAN,
}
# Compute capability: NVIDIA's table of CUDA GPUs. Bandwidth: NVIDIA's data sheets.
GPUS: dict[str, dict[str, Any]] = {
    "T4": {"compute_capability": "7.5", "bandwidth_gbs": 320.0},
    "A10G": {"compute_capability": "8.6", "bandwidth_gbs": 600.0},
    "L4": {"compute_capability": "8.9", "bandwidth_gbs": 300.0},
    "L40S": {"compute_capability": "8.9", "bandwidth_gbs": 864.0},
}
SOURCE = (
    "Sizes, vCPU, cores, memory, GPU memory: EC2 DescribeInstanceTypes as carried by moto. SIMD: llama.cpp facts and"
    " the vendors' core manuals. Compute capability and GPU bandwidth: NVIDIA. Host bandwidth: theoretical peak of the"
    " socket's memory channels; a size's share is prorated by cores and is an estimate, AWS publishes none."
)


def ec2_types() -> dict[str, Any]:
    """EC2's type descriptions by name."""
    path = Path(moto.ec2.__file__).parent / "resources/instance_types.json.gz"
    types: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return types


def size_row(description: dict[str, Any]) -> dict[str, Any]:
    """One size: vCPU, cores, memory and, when there is one, the GPU."""
    cpu = description["VCpuInfo"]
    row: dict[str, Any] = {
        "vcpus": cpu["DefaultVCpus"],
        "cores": cpu["DefaultCores"],
        "memory_mib": description["MemoryInfo"]["SizeInMiB"],
    }
    gpus = description.get("GpuInfo", {}).get("Gpus", [])
    if gpus:
        row["gpu"] = {
            "name": gpus[0]["Name"],
            "count": gpus[0]["Count"],
            "vram_mib": gpus[0]["MemoryInfo"]["SizeInMiB"],
        }
    return row


def catalogue() -> dict[str, Any]:
    """The whole document."""
    types = ec2_types()
    families: dict[str, Any] = {}
    for family, facts in FAMILIES.items():
        sizes = {name: value for name, value in types.items() if name.split(".")[0] == family}
        ordered = sorted(sizes, key=lambda n: (sizes[n]["VCpuInfo"]["DefaultVCpus"], "metal" in n, n))
        architecture = sizes[ordered[0]]["ProcessorInfo"]["SupportedArchitectures"][-1]
        rows = {name.split(".")[1]: size_row(sizes[name]) for name in ordered}
        families[family] = {"architecture": architecture, **facts, "sizes": rows}
    return {"source": SOURCE, "date": DATE, "estimated": ["memory_bandwidth_gbs"], "gpus": GPUS, "families": families}


def rendered(document: dict[str, Any]) -> str:
    """JSON with one size a line, so that a changed size is a one-line diff."""
    lines = ["{"]
    for key in ("source", "date", "estimated", "gpus"):
        lines.append(f" {json.dumps(key)}: {json.dumps(document[key])},")
    lines.append(' "families": {')
    families = document["families"]
    for family, facts in families.items():
        head = {k: v for k, v in facts.items() if k != "sizes"}
        lines.append(f"  {json.dumps(family)}: {json.dumps(head)[:-1]}, " + '"sizes": {')
        rows = [f"   {json.dumps(size)}: {json.dumps(row)}" for size, row in facts["sizes"].items()]
        lines.append(",\n".join(rows))
        lines.append("  }}" + ("," if family != list(families)[-1] else ""))
    lines.append(" }\n}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the file, or with --check say whether it is up to date (exit 1 when it is not)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    text = rendered(catalogue())
    if parser.parse_args().check:
        return int(OUT.read_text() != text)
    OUT.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
