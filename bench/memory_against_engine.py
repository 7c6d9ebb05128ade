"""The memory formulas beside what real llama.cpp says it allocates, on the synthetic dense and MoE models.

Starts the engine over architecture, context, slots, cache type and drafts, reads the buffer sizes in its log, and
prints both. The caches and the recurrent state must be exact to the log's last digit; compute buffers may be over,
never under. Usage: python bench/memory_against_engine.py [--full]
"""

from __future__ import annotations

import itertools
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from deployer.catalog import hardware
from deployer.decide.types import MtpChoice
from deployer.engine.gguf import read_header
from deployer.engine.gguf_facts import facts_from_header
from deployer.engine.memory import MIB, MemoryInputs, kv_bytes, memory_fit, mtp_kv_bytes, recurrent_bytes
from deployer.rehearsal.tiny_model import Variant, cached
from deployer.rehearsal.tiny_model.variant import TinyArchitecture

_COMMAND = (sys.executable, "-I", "-m", "deployer.rehearsal.engine.command")
#: The log's third verbosity level is the first that tells sizes.
_VERBOSITY = "4"
_DEADLINE_SECONDS = 30.0
#: Half of the last digit that the log shows.
ROUNDING_MIB = 0.0051


@dataclass(frozen=True)
class Setting:
    """One start of the engine. context: tokens for each slot. drafts 0: MTP off."""

    architecture: TinyArchitecture
    context: int
    parallel: int
    cache: str
    drafts: int

    def __str__(self) -> str:
        return f"{self.architecture} {self.context}x{self.parallel} {self.cache} n={self.drafts}"


@dataclass(frozen=True)
class Sizes:
    """MiB. kv and mtp_kv: caches of trunk and MTP context. recurrent: delta-net state. compute: of both contexts."""

    kv: float
    recurrent: float
    mtp_kv: float
    compute: float


QUICK = (
    Setting("qwen35", 2048, 1, "f16", 0),
    Setting("qwen35", 4096, 3, "q8_0", 3),
    Setting("qwen35moe", 8192, 2, "q4_0", 2),
)
_ARCHITECTURES: tuple[TinyArchitecture, ...] = get_args(TinyArchitecture)
FULL = tuple(
    Setting(*row)
    for row in itertools.product(_ARCHITECTURES, (2048, 16384), (1, 4), ("f16", "q8_0", "q4_0"), (0, 1, 2, 4))
)


def predicted(setting: Setting, model: Path) -> Sizes:
    """By the product's formulas, for a machine without a GPU."""
    with model.open("rb") as stream:
        facts = facts_from_header(read_header(stream), "tiny")
    machine = hardware.lookup("c8i.4xlarge")
    assert machine is not None
    inputs = MemoryInputs(
        facts,
        model.stat().st_size,
        machine,
        setting.context,
        setting.parallel,
        setting.cache,
        setting.cache,
        flash_attention=True,
        mtp=MtpChoice(setting.drafts > 0, setting.drafts, 0.0),
    )
    parts = dict(memory_fit(inputs).parts)
    compute = (parts["compute"] + parts["mtp_compute"]) / MIB
    return Sizes(kv_bytes(inputs) / MIB, recurrent_bytes(inputs) / MIB, mtp_kv_bytes(inputs) / MIB, compute)


def measured(setting: Setting, model: Path) -> Sizes:
    """By the engine's own log. Raises RuntimeError with the log when it does not start."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    words = ["-m", model, "--port", port, "-c", setting.context * setting.parallel, "-np", setting.parallel, "-t", 1]
    words += ["-ctk", setting.cache, "-ctv", setting.cache, "-fa", "on", "-lv", _VERBOSITY]
    if setting.drafts:
        words += ["--spec-type", "draft-mtp", "--spec-draft-n-max", setting.drafts]
    with tempfile.NamedTemporaryFile("w+") as log:
        engine = subprocess.Popen([*_COMMAND, *map(str, words)], stdout=log, stderr=log)
        try:
            return _sizes(_log_when_loaded(engine, Path(log.name)))
        finally:
            engine.kill()
            engine.wait()


def _log_when_loaded(engine: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while time.monotonic() < deadline and engine.poll() is None:
        text = log.read_text(errors="replace")
        if "server is listening" in text or "model loaded" in text:
            return text
        time.sleep(0.02)
    raise RuntimeError(log.read_text(errors="replace"))


def _sizes(log: str) -> Sizes:
    caches = [float(size) for size in re.findall(r"llama_kv_cache: .*KV buffer size = +([0-9.]+) MiB", log)]
    states = [float(size) for size in re.findall(r"llama_memory_recurrent: .*RS buffer size = +([0-9.]+) MiB", log)]
    # Reserved again and again while it looks for the best fit: the last of each context is what it keeps.
    compute = [float(size) for size in re.findall(r"compute buffer size = +([0-9.]+) MiB", log)]
    contexts = compute[:1] + compute[-1:] if len(caches) > 1 else compute[-1:]
    return Sizes(caches[0], sum(states), sum(caches[1:]), sum(contexts))


def compared(settings: tuple[Setting, ...], folder: Path) -> Iterator[tuple[Setting, Sizes, Sizes]]:
    """Each setting with what is predicted and what the engine says. folder: where the models are made."""
    for setting in settings:
        model = cached(folder, Variant(setting.architecture))
        yield setting, predicted(setting, model), measured(setting, model)


def main(settings: tuple[Setting, ...]) -> None:
    """Print the table; the exit status is 1 when a cache or a state is not exact or a compute buffer is under."""
    wrong = 0
    print(f"{'setting':28} {'KV MiB':>16} {'state MiB':>16} {'MTP KV MiB':>16} {'compute MiB':>16}")
    with tempfile.TemporaryDirectory() as folder:
        for setting, ours, theirs in compared(settings, Path(folder)):
            pairs = [(getattr(ours, name), getattr(theirs, name)) for name in ("kv", "recurrent", "mtp_kv", "compute")]
            wrong += any(abs(a - b) > ROUNDING_MIB for a, b in pairs[:3]) or pairs[3][0] < pairs[3][1]
            print(f"{setting!s:28} " + " ".join(f"{a:7.2f} /{b:7.2f}" for a, b in pairs))
    print(f"{len(settings)} settings, {wrong} wrong (each: predicted / engine's log)")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main(FULL if "--full" in sys.argv[1:] else QUICK)
