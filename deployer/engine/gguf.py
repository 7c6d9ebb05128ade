"""Read a GGUF header: architecture, dimensions, tensor names, and whether the file really carries an MTP head.

Standard library only, and strictly forward reading, so that the stream may be a ranged download that stops after the
header (tens of MB: the vocabulary lies in it). Every way a file can be wrong is a GgufError in one clear sentence.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import BinaryIO, NamedTuple

Scalar = bool | int | float | str

_MAGIC = b"GGUF"
_READ_STEP = 1 << 20
#: A header of a real model has some 40 keys and under 2,000 tensors; far above is junk, and junk must not cost memory.
_MAX_ENTRIES = 1 << 20
_MAX_NAME = 1 << 16
_MAX_STRING = 1 << 24
_MAX_ARRAY = 1 << 28
_MAX_DIMENSIONS = 4
_STRING, _ARRAY, _BOOL = 8, 9, 7
_FORMATS = MappingProxyType(
    {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<B", 10: "<Q", 11: "<q", 12: "<d"}
)
#: general.file_type -> what the quantisation is called (llama.cpp's llama_ftype).
_FILE_TYPES = MappingProxyType(
    {0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M"}
    | {13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS"}
    | {21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S"}
    | {29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16"}
)


class GgufError(ValueError):
    """The stream is not a GGUF file that llama.cpp would read; the message says in what way."""


class TensorInfo(NamedTuple):
    """One tensor's entry. shape: as ggml orders it, fastest dimension first. kind: ggml's type number."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int


@dataclass(frozen=True)
class GgufHeader:
    """metadata holds the scalar keys; arrays are skipped, their lengths are in `array_lengths`.

    header_bytes: where the header ends, before the alignment of the data.
    """

    version: int
    metadata: Mapping[str, Scalar]
    array_lengths: Mapping[str, int]
    tensors: tuple[TensorInfo, ...]
    header_bytes: int

    @property
    def architecture(self) -> str:
        """`general.architecture`, e.g. `qwen35moe`."""
        return str(self.metadata["general.architecture"])

    @property
    def name(self) -> str | None:
        """`general.name`, when given."""
        value = self.metadata.get("general.name")
        return value if isinstance(value, str) else None

    @property
    def block_count(self) -> int:
        """Layers including the MTP block."""
        return self.number("block_count")

    @property
    def nextn_predict_layers(self) -> int:
        """MTP blocks the keys promise; the tensors decide, see has_mtp_head."""
        return self.number("nextn_predict_layers")

    @property
    def context_length(self) -> int:
        """Tokens the model was trained for; 0 when the file does not say."""
        return self.number("context_length")

    @property
    def file_type(self) -> str | None:
        """The quantisation's name, None when unknown."""
        value = self.metadata.get("general.file_type")
        return _FILE_TYPES.get(value) if isinstance(value, int) else None

    @property
    def tensor_names(self) -> frozenset[str]:
        """Every tensor's name."""
        return frozenset(tensor.name for tensor in self.tensors)

    @property
    def parameters(self) -> int:
        """How many weights there are."""
        total = 0
        for tensor in self.tensors:
            size = 1
            for dimension in tensor.shape:
                size *= dimension
            total += size
        return total

    @property
    def has_mtp_head(self) -> bool:
        """Whether llama.cpp can draft with this file: the test it makes itself. The key alone is not enough."""
        return f"blk.{self.block_count - 1}.nextn.eh_proj.weight" in self.tensor_names

    @property
    def mtp_tensors_missing(self) -> bool:
        """The keys promise an MTP head that the tensors lack: llama-server aborts (exit 134) when asked to draft."""
        return self.nextn_predict_layers > 0 and not self.has_mtp_head

    def number(self, key: str) -> int:
        """The integer `<architecture>.<key>`, 0 when absent."""
        value = self.metadata.get(f"{self.architecture}.{key}", 0)
        return value if isinstance(value, int) else 0


def read_header(stream: BinaryIO) -> GgufHeader:
    """Read up to the end of the header and no byte further than one buffer (1 MiB). Raises GgufError."""
    reader = _Reader(stream)
    version = _version(reader)
    tensor_count = reader.count("tensor count", _MAX_ENTRIES)
    key_count = reader.count("key count", _MAX_ENTRIES)
    metadata: dict[str, Scalar] = {}
    lengths: dict[str, int] = {}
    for _ in range(key_count):
        key = reader.string("a key's name", _MAX_NAME)
        if key in metadata or key in lengths:
            raise GgufError(f"the key {key!r} occurs twice: the file is damaged")
        kind = reader.scalar(4, "a key's type")
        if kind == _ARRAY:
            lengths[key] = reader.skip_array(key)
        else:
            metadata[key] = reader.value(kind, key)
    if not isinstance(metadata.get("general.architecture"), str):
        raise GgufError("the file has no general.architecture key, so llama.cpp cannot load it")
    tensors = tuple(_tensor(reader) for _ in range(tensor_count))
    return GgufHeader(version, metadata, lengths, tensors, reader.position)


def _version(reader: _Reader) -> int:
    magic = reader.take(4, "the magic bytes")
    if magic != _MAGIC:
        raise GgufError(_not_gguf(magic))
    version = int(reader.scalar(4, "the version"))
    if version & 0xFFFF == 0:
        raise GgufError("the file is big-endian; llama.cpp on ARM and x86 needs the little-endian one")
    if version not in (2, 3):
        raise GgufError(f"GGUF version {version} is not supported (2 and 3 are)")
    return version


def _not_gguf(magic: bytes) -> str:
    match magic:
        case b"vers":
            return "this is a Git LFS pointer, not the GGUF file it points to"
        case b"<!DO" | b"<htm" | b"<HTM" | b"<?xm":
            return "this is a web page, not a GGUF file: the URL answers with an error or a login page"
        case b"ggml" | b"ggjt" | b"ggmf" | b"lmgg" | b"tjgg" | b"fmgg":
            return "this is a GGML file from before GGUF; convert it or take the GGUF"
        case b"FUGG":
            return "the file is byte-swapped and cannot be loaded"
        case _:
            return f"this is not a GGUF file: it begins with {magic!r}"


def _tensor(reader: _Reader) -> TensorInfo:
    name = reader.string("a tensor's name", _MAX_NAME)
    dimensions = reader.count(f"the number of dimensions of {name!r}", _MAX_DIMENSIONS, width=4)
    shape = tuple(reader.scalar(10, f"the shape of {name!r}") for _ in range(dimensions))
    kind = reader.scalar(4, f"the type of {name!r}")
    offset = reader.scalar(10, f"the offset of {name!r}")
    return TensorInfo(name, tuple(int(size) for size in shape), int(kind), int(offset))


class _Reader:
    """Forward reading through one buffer; remembers how far it came for the messages."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._buffer = b""
        self._at = 0
        self.position = 0

    def take(self, size: int, what: str) -> bytes:
        self._fill(size, what)
        chunk = self._buffer[self._at : self._at + size]
        self._at += size
        self.position += size
        return chunk

    def scalar(self, kind: int, what: str) -> int:
        layout = _FORMATS[kind]
        return int(struct.unpack(layout, self.take(struct.calcsize(layout), what))[0])

    def count(self, what: str, limit: int, *, width: int = 10) -> int:
        value = self.scalar(width, what)
        if value > limit:
            raise GgufError(f"{what} is {value}, which no model has: the file is damaged")
        return value

    def string(self, what: str, limit: int) -> str:
        size = self.count(f"the length of {what}", limit)
        return self.take(size, what).decode("utf-8", errors="replace")

    def value(self, kind: int, key: str) -> Scalar:
        if kind == _STRING:
            return self.string(f"the value of {key!r}", _MAX_STRING)
        layout = _layout(kind, key)
        value: Scalar = struct.unpack(layout, self.take(struct.calcsize(layout), f"the value of {key!r}"))[0]
        return bool(value) if kind == _BOOL else value

    def skip_array(self, key: str) -> int:
        kind = self.scalar(4, f"the type of {key!r}")
        length = self.count(f"the length of {key!r}", _MAX_ARRAY)
        if kind == _STRING:
            for _ in range(length):
                self._skip(self.count(f"the length of an entry of {key!r}", _MAX_STRING), key)
        else:
            self._skip(length * struct.calcsize(_layout(kind, key)), key)
        return length

    def _skip(self, size: int, key: str) -> None:
        what = f"the entries of {key!r}"
        while size > 0:
            step = min(size, _READ_STEP)
            self._fill(step, what)
            self._at += step
            self.position += step
            size -= step

    def _fill(self, size: int, what: str) -> None:
        while len(self._buffer) - self._at < size:
            more = self._stream.read(_READ_STEP)
            if not more:
                raise GgufError(f"the file ends after {self._total()} bytes, in {what}: it is truncated")
            self._buffer = self._buffer[self._at :] + more
            self._at = 0

    def _total(self) -> int:
        return self.position + len(self._buffer) - self._at


def _layout(kind: int, key: str) -> str:
    layout = _FORMATS.get(kind)
    if layout is None:
        raise GgufError(f"the key {key!r} has the unknown type {kind}: the file is damaged")
    return layout
