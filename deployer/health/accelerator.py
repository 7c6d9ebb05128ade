"""Rung 7: the GPU is in use. Warns only."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from deployer.events import Json
from deployer.health.base import Observation

#: llama.cpp's names of what it computes with on the host.
_NO_GPU = ("CPU", "BLAS")


class AcceleratorUsed:
    """expects_gpu: the build is for one. ready_detail: the agent's `detail` of its `ready done` line.

    llama.cpp takes `-ngl 99` without a word on a build that has no GPU code, so only the devices it lists count.
    """

    name = "accelerator"
    deadline_seconds = 0.0
    decides = False

    def __init__(self, expects_gpu: bool, ready_detail: Callable[[], Mapping[str, Json]]) -> None:
        self._expects_gpu = expects_gpu
        self._ready_detail = ready_detail

    def check(self) -> Observation:
        if not self._expects_gpu:
            return Observation("skipped", "a CPU build")
        devices = self._ready_detail().get("devices")
        names = [str(device) for device in devices] if isinstance(devices, list) else []
        names = [name for name in names if not name.upper().startswith(_NO_GPU)]
        if not names:
            return Observation("warned", "a GPU was expected, but the engine lists no device: it runs on the CPU")
        return Observation("passed", ", ".join(names))
