"""Where a GGUF's last tensor ends: how long the file must be. Pure."""

from __future__ import annotations

from types import MappingProxyType

from deployer.engine.gguf import GgufHeader, TensorInfo

_DEFAULT_ALIGNMENT = 32
#: ggml's type number -> (weights in a block, bytes of a block). Source: the type traits in ggml.c of llama.cpp b11549.
_BLOCKS = MappingProxyType(
    {0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36)}
    | {10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292)}
    | {16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82)}
    | {23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2)}
    | {34: (256, 54), 35: (256, 66), 39: (32, 17)}
)


def least_size(header: GgufHeader) -> int:
    """The bytes up to the end of the last tensor's data; a type this table lacks counts as empty."""
    alignment = header.metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
    step = alignment if isinstance(alignment, int) and alignment > 0 else _DEFAULT_ALIGNMENT
    start = -(-header.header_bytes // step) * step
    return max((start + tensor.offset + _bytes(tensor) for tensor in header.tensors), default=header.header_bytes)


def _bytes(tensor: TensorInfo) -> int:
    count = 1
    for dimension in tensor.shape:
        count *= dimension
    weights, size = _BLOCKS.get(tensor.kind, (1, 0))
    return count // weights * size
