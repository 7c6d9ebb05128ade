"""The graviton build: cross-compiled with the Dockerfile's flags, and processors of three generations to run it on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from tests.box.images.building import CACHE, compile_target, configure, need, recipe

FOLDER = CACHE / "arm64"
ROOT = FOLDER / "sysroot"
_QEMU = FOLDER / "qemu-aarch64"
_INCLUDED = "libc6-dev,libstdc++6,libgomp1,libssl-dev"
#: Emulates the processors that matter; Debian 12's own is too old to know them.
_SUITE = "trixie"


def llama_server() -> Path:
    """llama-server for c8g; a quarter of an hour the first time."""
    need("aarch64-linux-gnu-g++", "mmdebstrap", packages="g++-aarch64-linux-gnu mmdebstrap")
    _make_root()
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "toolchain.cmake").write_text(_TOOLCHAIN)
    folder = FOLDER / "build"
    configure(recipe("c8g.4xlarge"), folder, f"-DCMAKE_TOOLCHAIN_FILE={FOLDER / 'toolchain.cmake'}")
    compile_target(folder, "llama-server")
    return folder / "bin/llama-server"


def command(cpu: str, *words: str) -> list[str]:
    """The program on an emulated processor. cpu: qemu's name of it."""
    return [str(_qemu()), "-cpu", cpu, "-L", str(ROOT), str(llama_server()), *words]


def _mirror() -> str:
    """The Debian archive that this machine uses."""
    texts = [path.read_text() for path in Path("/etc/apt").glob("sources.list*/**/*") if path.is_file()]
    found = re.findall(r"https?://\S+/debian/?(?=\s)", "\n".join(texts))
    assert found, "this machine's apt names no Debian archive"
    return str(found[0])


def _make_root() -> None:
    """An arm64 Debian's libraries, unpacked and not configured: no emulation is needed for that."""
    if ROOT.is_dir():
        return
    draft = ROOT.with_suffix(".draft")
    shutil.rmtree(draft, ignore_errors=True)
    options = ["--variant=extract", "--arch=arm64", "--skip=check/qemu", f"--include={_INCLUDED}"]
    subprocess.run(["mmdebstrap", "--quiet", *options, "bookworm", str(draft), _mirror()], check=True)
    draft.rename(ROOT)


def _qemu() -> Path:
    """One static program, out of the newer Debian's package; this machine's packages stay as they are."""
    if _QEMU.is_file():
        return _QEMU
    need("apt-get", "dpkg-deb", packages="apt dpkg")
    work = FOLDER / "qemu"
    for folder in ("lists/partial", "cache/archives/partial"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (work / "sources.list").write_text(f"deb [signed-by={keyring}] {_mirror()} {_SUITE} main\n")
    places = {
        "Dir::Etc::SourceList": work / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": work / "lists",
        "Dir::Cache": work / "cache",
        "APT::Sandbox::User": os.environ.get("USER", "root"),
    }
    options = [word for name, value in places.items() for word in ("-o", f"{name}={value}")]
    subprocess.run(["apt-get", "-qq", *options, "update"], check=True)
    subprocess.run(["apt-get", "-qq", *options, "download", "qemu-user"], check=True, cwd=work)
    (package,) = work.glob("qemu-user_*.deb")
    subprocess.run(["dpkg-deb", "--extract", str(package), str(work / "files")], check=True)
    shutil.copy2(work / "files/usr/bin/qemu-aarch64", _QEMU)
    shutil.rmtree(work)
    return _QEMU


_TOOLCHAIN = f"""set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH {ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
"""
