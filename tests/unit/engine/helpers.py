"""Builders for the engine's tests."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping, Sequence

from deployer.catalog import hardware, models
from deployer.catalog.types import Hardware, ModelFacts
from deployer.decide.types import MtpChoice
from deployer.engine.memory import MemoryInputs

OFF = MtpChoice(enabled=False, draft_n_max=0, draft_p_min=0.0)


def on(n_max: int = 2, p_min: float = 0.0) -> MtpChoice:
    return MtpChoice(enabled=True, draft_n_max=n_max, draft_p_min=p_min)


def machine(name: str) -> Hardware:
    found = hardware.lookup(name)
    assert found is not None
    return found


def model(name: str) -> ModelFacts:
    found = models.lookup(name)
    assert found is not None
    return found


def inputs(
    name: str = "Qwen3.6-27B",
    quant: str = "Q4_K_M",
    instance: str = "g5.xlarge",
    *,
    context: int = 32768,
    parallel: int = 1,
    cache: str = "f16",
    mtp: MtpChoice = OFF,
    flash: bool = True,
) -> MemoryInputs:
    facts = model(name)
    file = models.file_for(facts, quant)
    assert file is not None
    return MemoryInputs(facts, file.size_estimate_bytes, machine(instance), context, parallel, cache, cache, flash, mtp)


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def key(name: str, value: object) -> bytes:
    match value:
        case bool():
            return text(name) + struct.pack("<IB", 7, value)
        case int():
            return text(name) + struct.pack("<II", 4, value)
        case float():
            return text(name) + struct.pack("<If", 6, value)
        case str():
            return text(name) + struct.pack("<I", 8) + text(value)
        case list() if value and isinstance(value[0], str):
            return text(name) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(text(word) for word in value)
        case list():
            return text(name) + struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
        case _:
            raise AssertionError(value)


def tensor(name: str, shape: Sequence[int] = (8, 4), offset: int = 0) -> bytes:
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, offset)


HEAD = "blk.4.nextn.eh_proj.weight"
KEYS: Mapping[str, object] = {
    "general.architecture": "qwen35",
    "general.name": "test",
    "general.file_type": 15,
    "qwen35.block_count": 5,
    "qwen35.nextn_predict_layers": 1,
    "qwen35.context_length": 262144,
    "qwen35.full_attention_interval": 4,
    "tokenizer.ggml.tokens": ["a", "b", "ü"],
    "tokenizer.ggml.token_type": [1, 1, 1],
    "tokenizer.ggml.add_bos_token": False,
    "qwen35.rope.freq_base": 1e7,
}


def gguf(
    keys: Mapping[str, object] = KEYS, tensors: Sequence[str] = ("token_embd.weight", HEAD), version: int = 3
) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys))
    return (
        head + b"".join(key(name, value) for name, value in keys.items()) + b"".join(tensor(name) for name in tensors)
    )


def stream(raw: bytes) -> io.BytesIO:
    return io.BytesIO(raw)
