"""The cuda build, as far as a machine without a GPU goes: cmake takes the Dockerfile's words, and a kernel compiles.

Linking needs libraries of 1 GB; bench/gpu_check.sh makes and runs the whole on a machine that has a GPU.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.box.images.building import CACHE, compile_target, configure, need, recipe

pytestmark = pytest.mark.box

_FOLDER = CACHE / "cuda"
#: Of a fat binary: header, then entries of header (architecture at byte 28) and code.
_MAGIC = 0xBA55ED50
#: Turns the positions into rotations; a source of every layer, and a minute to compile. The matrix kernels take twenty.
_SOURCE = "ggml/src/ggml-cuda/CMakeFiles/ggml-cuda.dir/rope.cu.o"


def test_a_kernel_compiles_for_the_gpu_of_the_instance() -> None:
    need("nvcc", "objcopy", packages="nvidia-cuda-toolkit binutils")
    headers = _cublas_headers()
    absent = _FOLDER / "none.so"
    absent.touch()
    libraries = [f"-DCUDA_{name}_LIBRARY={absent}" for name in ("cublas", "cublasLt", "cuda_driver")]
    folder = _FOLDER / "build"
    configure(recipe("g5.xlarge"), folder, f"-DCMAKE_CUDA_FLAGS=-I{headers}", *libraries)
    compile_target(folder, _SOURCE)
    assert architectures(folder / _SOURCE) == {86}


def architectures(path: Path) -> set[int]:
    """Of the GPU code in an object file: what NVIDIA's loader chooses by."""
    section = path.with_suffix(".fatbin")
    command = ["objcopy", "-O", "binary", "--only-section=.nv_fatbin", "--set-section-flags", ".nv_fatbin=alloc"]
    subprocess.run([*command, str(path), str(section)], check=True)
    data, found = section.read_bytes(), set()
    (magic, _, header, size) = struct.unpack_from("<IHHQ", data)
    assert magic == _MAGIC
    place, end = header, header + size
    while place < end:
        (_, _, header, size) = struct.unpack_from("<HHIQ", data, place)
        found.add(struct.unpack_from("<I", data, place + 28)[0])
        place += header + size
    return found


def _cublas_headers() -> Path:
    """Out of NVIDIA's Python package, of which nothing else is kept."""
    found = list(_FOLDER.glob("cublas/**/cublas_v2.h"))
    if not found:
        need("pip", packages="python3-pip")
        draft = _FOLDER / "download"
        wanted = ["--no-deps", "--only-binary", ":all:", "nvidia-cublas==13.*"]
        subprocess.run(["pip", "download", "--quiet", *wanted, "--dest", str(draft)], check=True)
        (wheel,) = draft.glob("*.whl")
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(_FOLDER / "cublas", [name for name in packed.namelist() if name.endswith(".h")])
        shutil.rmtree(draft)
        found = list(_FOLDER.glob("cublas/**/cublas_v2.h"))
    return found[0].parent
