"""What a deployment needs in the memory that limits it: VRAM on GPU instances, RAM on the others.

Formulas are llama.cpp's own allocations (b11549): the KV cache of the full-attention layers, the delta-net state that
MTP multiplies by the drafts it must be able to take back, the MTP layer's own cache, and the compute buffers. The
buffers were calibrated on published VRAM readings (sudoingX/qwen38-mtp, 27B on a 3090 Ti at 128k and 256k): 1 KiB a
token for the mask, and with a quantised cache one layer of K and V again in f16. The estimate stays above the readings
by what llama.cpp keeps in host memory (token embeddings).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from deployer.catalog.types import Hardware, ModelFacts
from deployer.decide.types import MemoryFit, MtpChoice
from deployer.engine.argv import padded_context

MIB = 1 << 20
GIB = 1 << 30

#: Bytes of a block of 32 values, by cache type (ggml's block layouts).
CACHE_BLOCK_BYTES = MappingProxyType(
    {"f32": 128, "f16": 64, "bf16": 64, "q8_0": 34, "q5_1": 24, "q5_0": 22, "q4_1": 20, "q4_0": 18, "iq4_nl": 18}
)
_UNQUANTISED = frozenset({"f32", "f16", "bf16"})
#: Tokens of one physical batch: llama.cpp's default of -ub, which sizes the compute buffers.
MICRO_BATCH = 512
#: CUDA context, cuBLAS workspace and fragmentation of one GPU.
GPU_RESERVE_BYTES = 768 * MIB
#: The engine's own host memory when the weights are in VRAM: CUDA libraries, pinned buffers, token embeddings.
CUDA_HOST_BYTES = 2 * GIB
#: The least host memory the engine gets for re-used prompts; more when there is room.
MIN_PROMPT_CACHE_BYTES = 512 * MIB
MIN_CHECKPOINTS = 4
#: llama.cpp's own defaults, which we never exceed.
MAX_PROMPT_CACHE_BYTES = 8192 * MIB
MAX_CHECKPOINTS = 32
_PROMPT_CACHE_STEP = 256 * MIB
_ACTIVATION_ROWS = 16
_GRAPH_BYTES = 32 * MIB


@dataclass(frozen=True)
class MemoryInputs:
    """context: tokens for each slot. facts None: a model nobody described, then only its size is counted."""

    facts: ModelFacts | None
    weights_bytes: int
    hardware: Hardware
    context: int
    parallel: int
    cache_type_k: str
    cache_type_v: str
    flash_attention: bool
    mtp: MtpChoice


@dataclass(frozen=True)
class HostCaches:
    """Sizes for --cache-ram and --ctx-checkpoints (the latter for each slot)."""

    prompt_cache_mib: int
    checkpoints: int


def memory_fit(inputs: MemoryInputs, nearest: str | None = None) -> MemoryFit:
    """Whether it fits, with every part. `nearest` is passed through; engine.nearest finds it."""
    where: Literal["vram", "ram"] = "vram" if inputs.hardware.gpu is not None else "ram"
    parts = _model_parts(inputs) + (_vram_parts(inputs) if where == "vram" else _ram_parts(inputs))
    need = sum(size for _, size in parts)
    have = available_bytes(inputs.hardware)
    return MemoryFit(need <= have, where, need, have, parts, nearest)


def available_bytes(hardware: Hardware) -> int:
    """All VRAM of all GPUs, or all RAM; what the system keeps for itself counts as need."""
    gpu = hardware.gpu
    return (gpu.vram_mib * gpu.count if gpu is not None else hardware.memory_mib) * MIB


def host_caches(inputs: MemoryInputs) -> HostCaches:
    """Spend what host memory is left over: up to a quarter on checkpoints, up to half on cached prompts."""
    left = _host_left(inputs)
    if left < 0:
        return HostCaches(0, 1)
    state = _state_bytes(inputs) * inputs.parallel
    more_checkpoints = left // 4 // state if state else MAX_CHECKPOINTS
    more_cache = left // 2 // _PROMPT_CACHE_STEP * _PROMPT_CACHE_STEP
    prompt_cache = min(MAX_PROMPT_CACHE_BYTES, MIN_PROMPT_CACHE_BYTES + more_cache)
    return HostCaches(prompt_cache // MIB, min(MAX_CHECKPOINTS, MIN_CHECKPOINTS + more_checkpoints))


def host_reserve_bytes(memory_mib: int) -> int:
    """What firmware, kernel, system services and the agent take: 1 GiB and a thirty-second of the memory."""
    return GIB + memory_mib * MIB // 32


def kv_bytes(inputs: MemoryInputs) -> int:
    """KV cache of the trunk's full-attention layers, all slots."""
    facts = inputs.facts
    if facts is None:
        return 0
    row = facts.kv_heads * facts.head_dim
    blocks = CACHE_BLOCK_BYTES[inputs.cache_type_k] + CACHE_BLOCK_BYTES[inputs.cache_type_v]
    return facts.full_attention_layers * _cells(inputs) * row * blocks // 32


def recurrent_bytes(inputs: MemoryInputs) -> int:
    """Delta-net state: a copy for each slot, and with MTP one more for each draft that may have to be taken back."""
    drafts = inputs.mtp.draft_n_max if inputs.mtp.enabled else 0
    return inputs.parallel * (1 + drafts) * _state_bytes(inputs)


def mtp_kv_bytes(inputs: MemoryInputs) -> int:
    """The MTP context's KV cache, always f16: it does not follow the cache types."""
    facts = inputs.facts
    if facts is None or not inputs.mtp.enabled:
        return 0
    return facts.mtp_layers * _cells(inputs) * facts.kv_heads * facts.head_dim * 2 * 2


def _model_parts(inputs: MemoryInputs) -> tuple[tuple[str, int], ...]:
    return (
        ("weights", inputs.weights_bytes),
        ("kv_cache", kv_bytes(inputs)),
        ("recurrent_state", recurrent_bytes(inputs)),
        ("mtp_kv_cache", mtp_kv_bytes(inputs)),
        ("compute", _compute_bytes(inputs)),
        ("mtp_compute", _mtp_compute_bytes(inputs)),
    )


def _vram_parts(inputs: MemoryInputs) -> tuple[tuple[str, int], ...]:
    gpu = inputs.hardware.gpu
    assert gpu is not None
    # Layers are not divisible: each further GPU may end with room for almost one layer left.
    layer = inputs.weights_bytes // max(1, inputs.facts.layers if inputs.facts else 1)
    return (("gpu_reserve", gpu.count * GPU_RESERVE_BYTES + (gpu.count - 1) * layer),)


def _ram_parts(inputs: MemoryInputs) -> tuple[tuple[str, int], ...]:
    return (
        ("checkpoints", MIN_CHECKPOINTS * inputs.parallel * _state_bytes(inputs)),
        ("prompt_cache", MIN_PROMPT_CACHE_BYTES),
        ("host_reserve", host_reserve_bytes(inputs.hardware.memory_mib)),
    )


def _compute_bytes(inputs: MemoryInputs) -> int:
    facts = inputs.facts
    if facts is None:
        return 0
    gpus = inputs.hardware.gpu.count if inputs.hardware.gpu is not None else 1
    logits = MICRO_BATCH * facts.vocab * 4
    return logits + gpus * (_graph_bytes(facts) + _attention_bytes(inputs, facts))


def _mtp_compute_bytes(inputs: MemoryInputs) -> int:
    facts = inputs.facts
    if facts is None or not inputs.mtp.enabled:
        return 0
    # Its context puts out one row of logits a slot, not a whole batch.
    logits = inputs.parallel * (1 + inputs.mtp.draft_n_max) * facts.vocab * 4
    return logits + _graph_bytes(facts) + _mask_bytes(inputs)


def _graph_bytes(facts: ModelFacts) -> int:
    return _GRAPH_BYTES + MICRO_BATCH * facts.hidden * _ACTIVATION_ROWS * 4


def _mask_bytes(inputs: MemoryInputs) -> int:
    return MICRO_BATCH * padded_context(inputs.context) * (2 if inputs.flash_attention else 4)


def _attention_bytes(inputs: MemoryInputs, facts: ModelFacts) -> int:
    if not inputs.flash_attention:
        return _mask_bytes(inputs) + MICRO_BATCH * padded_context(inputs.context) * facts.attention_heads * 4
    if inputs.hardware.gpu is None:
        return _mask_bytes(inputs)
    quantised = sum(kind not in _UNQUANTISED for kind in (inputs.cache_type_k, inputs.cache_type_v))
    return _mask_bytes(inputs) + quantised * _cells(inputs) * facts.kv_heads * facts.head_dim * 2


def _cells(inputs: MemoryInputs) -> int:
    return padded_context(inputs.context) * inputs.parallel


def _state_bytes(inputs: MemoryInputs) -> int:
    return inputs.facts.recurrent_state_bytes if inputs.facts is not None else 0


def _host_left(inputs: MemoryInputs) -> int:
    memory = inputs.hardware.memory_mib * MIB
    if inputs.hardware.gpu is None:
        fit = memory_fit(inputs)
        return fit.have_bytes - fit.need_bytes
    fixed = CUDA_HOST_BYTES + sum(size for _, size in _ram_parts(inputs))
    return memory - fixed
