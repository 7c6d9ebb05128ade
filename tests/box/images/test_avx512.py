"""The avx512 build cannot run on most machines, so its machine code is read. That its program starts says nothing."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.box.images.building import CACHE, compile_target, configure, need, recipe

pytestmark = pytest.mark.box


def test_the_cpu_backend_holds_avx512_and_amx_code() -> None:
    need("objdump", packages="binutils")
    folder = CACHE / "avx512"
    configure(recipe("c8i.4xlarge"), folder)
    compile_target(folder, "ggml-cpu")
    (library,) = folder.glob("**/libggml-cpu.a")
    found = mnemonics(str(library))
    assert found["zmm"] > 1000
    assert found["vpdpbusd"] > 0  # AVX512-VNNI
    assert found["tdpbssd"] + found["tdpbusd"] + found["tdpbuud"] > 0  # AMX: tiles multiplied, not only configured
    assert found["vdpbf16ps"] > 0  # AVX512-BF16


def mnemonics(path: str) -> dict[str, int]:
    """How often each of the telling words is in the disassembly."""
    words = ("zmm", "vpdpbusd", "tdpbssd", "tdpbusd", "tdpbuud", "vdpbf16ps")
    counts = dict.fromkeys(words, 0)
    pattern = re.compile("|".join(words))
    with subprocess.Popen(["objdump", "--disassemble", path], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            for word in set(pattern.findall(line)):
                counts[word] += 1
    assert process.returncode == 0
    return counts
