"""Whether this host has what booted machines need."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from deployer.rehearsal.machines.booted import cgroups, firewall
from deployer.rehearsal.machines.booted.commands import HostError, run
from deployer.rehearsal.machines.booted.rootfs import is_built, rootfs_path

#: Program -> the Debian package that brings it.
_PROGRAMS = {"systemd-nspawn": "systemd-container", "ip": "iproute2", "nft": "nftables", "unshare": "util-linux"}

#: Tried in namespaces that end with the shell: forwarding, the firewall's own rules, an overlay on this file system.
_TRIAL = """
echo 1 > /proc/sys/net/ipv4/ip_forward
nft -f -
cd "$1"
mkdir lower upper work root
mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work root
"""


def available(scratch: Path) -> str | None:
    """Why machines cannot be booted here, in one sentence; None when they can.

    scratch: a folder on the file system where machines will live.
    """
    if not sys.platform.startswith("linux"):
        return f"this is {sys.platform}, not Linux"
    if os.geteuid() != 0:
        return "this user is not root"
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"{', '.join(missing)} missing (packages: {' '.join(_PROGRAMS[name] for name in missing)})"
    if cgroups.find_layout() is None:
        return "no control group hierarchy with a memory controller can be written to"
    if not is_built():
        return f"the machine image is not built ({rootfs_path()}): run `deployer sandbox rootfs`"
    return _trial(scratch)


def _trial(scratch: Path) -> str | None:
    with tempfile.TemporaryDirectory(dir=scratch, prefix="dpl-trial-") as folder:
        command = ["unshare", "--net", "--mount", "sh", "-euc", _TRIAL, "sh", folder]
        try:
            run(command, text=firewall.skeleton())
        except HostError as error:
            return f"the kernel or a container around us refuses: {error.message}"
    return None
