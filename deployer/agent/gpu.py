"""The GPU: a driver that answers, a toolkit that hands it to containers, and proof that the engine sees it."""

from __future__ import annotations

import contextlib
import glob
import re
import shutil
import subprocess
import time

from .commands import run
from .config import Config
from .console import Phase
from .stop import Stop

_QUERY = ("nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader")
#: PCI's number of NVIDIA.
_VENDOR = "0x10de"
#: One line of `llama-server --list-devices`.
_DEVICE = re.compile(r"^\s+\w+\d+: ")
_TOOLKIT = "nvidia-container-toolkit"
_HOOKS = ("nvidia-container-runtime-hook", "nvidia-ctk")


def driver(config: Config, phase: Phase, stop: Stop) -> None:
    """A GPU that answers, when a container is to use it. Raises AgentFailure driver_missing."""
    if not config.expects_gpu:
        phase.skip("no GPU is expected")
        return
    if not config.docker:
        phase.skip("a native engine finds its own devices")
        return
    deadline = time.monotonic() + config.driver_s
    # Installed but not loaded: it happens after the first boot of an image and after stop and start.
    with contextlib.suppress(OSError):
        subprocess.run(["modprobe", "nvidia"], capture_output=True, check=False)
    while True:
        gpus, problem = _gpus()
        if gpus:
            phase.result(detail={"gpus": gpus})
            return
        if time.monotonic() > deadline:
            raise phase.failure("driver_missing", "%s; %s" % (problem[0], _on_the_bus(config.root)), problem[1:])
        phase.progress("waiting for the GPU driver: " + problem[0])
        stop.pause(min(5.0, 2 * config.retry_s))


def _gpus() -> tuple[list[str], list[str]]:
    """(one line for each GPU, why there is none)."""
    try:
        answer = subprocess.run(_QUERY, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [], [str(error)]
    lines = answer.stdout.splitlines()
    if answer.returncode or not lines:
        return [], ["nvidia-smi fails", *lines, *answer.stderr.splitlines()]
    return lines, []


def _on_the_bus(root: str) -> str:
    """What the machine itself shows, which tells a missing driver from a machine without a GPU."""
    found = 0
    for path in glob.glob(root + "/sys/bus/pci/devices/*/vendor"):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as stream:
            found += stream.read().strip() == _VENDOR
    loaded = bool(glob.glob(root + "/proc/driver/nvidia/version"))
    return "%d NVIDIA devices on the PCI bus, the driver is %sloaded" % (found, "" if loaded else "not ")


def toolkit(phase: Phase, stop: Stop) -> None:
    """What lets docker hand a GPU to a container, installed if need be. Raises AgentFailure driver_missing."""
    if any(map(shutil.which, _HOOKS)):
        return
    phase.note("installing " + _TOOLKIT)
    lines: list[str] = []
    if shutil.which("dnf"):
        # Amazon Linux serves NVIDIA's packages from its own mirrors once this is installed; elsewhere it is unknown.
        run(stop, phase, "dnf install -y -q nvidia-release")
        _, lines = run(stop, phase, "dnf install -y -q " + _TOOLKIT)
    elif shutil.which("apt-get"):
        _, lines = run(stop, phase, "apt-get install -y -q " + _TOOLKIT)
    if shutil.which("nvidia-ctk"):
        run(stop, phase, "nvidia-ctk runtime configure --runtime=docker")
        run(stop, phase, "systemctl restart docker")
    if not any(map(shutil.which, _HOOKS)):
        raise phase.failure("driver_missing", "there is no %s and it cannot be installed" % _TOOLKIT, lines)


def prove(config: Config, phase: Phase, stop: Stop) -> None:
    """llama.cpp's own list of devices, before minutes are spent on loading: a build without GPU code takes any -ngl.

    Raises AgentFailure driver_missing.
    """
    code, lines = run(stop, phase, "docker run --rm --gpus all --network none %s --list-devices" % config.image)
    devices = [line.strip() for line in lines if _DEVICE.match(line)]
    if code or not devices:
        text = "the engine in %s sees no GPU (--list-devices, exit code %d)" % (config.image, code)
        raise phase.failure("driver_missing", text, lines)
    phase.result(detail={"image": config.image, "devices": devices})
