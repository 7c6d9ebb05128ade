from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deployer.engine.gguf import GgufError, read_header
from deployer.engine.gguf_facts import facts_from_header
from tests.unit.engine.helpers import HEAD, KEYS, gguf, key, stream, text

WHOLE = gguf()


def test_reads_what_is_there() -> None:
    header = read_header(stream(WHOLE + b"tensor data"))
    assert header.architecture == "qwen35"
    assert header.name == "test"
    assert header.file_type == "Q4_K_M"
    assert (header.block_count, header.nextn_predict_layers, header.context_length) == (5, 1, 262144)
    assert header.array_lengths == {"tokenizer.ggml.tokens": 3, "tokenizer.ggml.token_type": 3}
    assert header.metadata["tokenizer.ggml.add_bos_token"] is False
    assert header.tensor_names == {"token_embd.weight", HEAD}
    assert header.parameters == 64
    assert header.header_bytes == len(WHOLE)
    assert header.version == 3


def test_version_2() -> None:
    assert read_header(stream(gguf(version=2))).version == 2


def test_head_and_key_agree() -> None:
    header = read_header(stream(WHOLE))
    assert header.has_mtp_head
    assert not header.mtp_tensors_missing


def test_key_without_tensors_is_no_head() -> None:
    # llama-server aborts with exit 134 on such a file.
    header = read_header(stream(gguf(tensors=["token_embd.weight", "blk.4.attn_q.weight"])))
    assert not header.has_mtp_head
    assert header.mtp_tensors_missing


def test_trunk_only() -> None:
    keys = {name: value for name, value in KEYS.items() if "nextn" not in name}
    header = read_header(stream(gguf(keys, ["token_embd.weight"])))
    assert not header.has_mtp_head
    assert not header.mtp_tensors_missing


class Trickle(io.RawIOBase):
    """A stream that gives a few bytes at a time, as a socket may, and counts them."""

    def __init__(self, raw: bytes, step: int) -> None:
        self.raw, self.step, self.at = raw, step, 0

    def read(self, size: int = -1) -> bytes:
        end = self.at + min(self.step, len(self.raw) if size < 0 else size)
        chunk = self.raw[self.at : end]
        self.at += len(chunk)
        return chunk


@pytest.mark.parametrize("step", [1, 3, 4096])
def test_a_slow_stream(step: int) -> None:
    assert read_header(cast(BinaryIO, Trickle(WHOLE, step))).has_mtp_head


def test_stops_after_the_header() -> None:
    source = Trickle(WHOLE + bytes(1 << 20), 64)
    read_header(cast(BinaryIO, source))
    assert source.at < len(WHOLE) + 64


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "truncated"),
        (b"GGU", "truncated"),
        (b"PK\x03\x04" + bytes(40), "not a GGUF file"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"tjgg" + bytes(40), "before GGUF"),
        (b"GGUF" + struct.pack(">IQQ", 3, 1, 1), "big-endian"),
        (b"GGUF" + struct.pack("<IQQ", 1, 1, 1), "version 1"),
        (b"GGUF" + struct.pack("<IQQ", 4, 1, 1), "version 4"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1), "tensor count"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 1 << 60), "key count"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 50), "name"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<I", 99), "unknown type 99"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "general.architecture"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + key("k", 1) + key("k", 1), "twice"),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", 9, 4, 1 << 40),
            "which no model has",
        ),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", 9, 9, 1), "unknown type 9"),
        (
            b"GGUF"
            + struct.pack("<IQQ", 3, 1, 1)
            + key("general.architecture", "x")
            + text("t")
            + struct.pack("<I", 9),
            "dimensions",
        ),
    ],
)
def test_wrong_files(raw: bytes, message: str) -> None:
    with pytest.raises(GgufError, match=message):
        read_header(stream(raw))


@pytest.mark.parametrize("size", range(0, len(WHOLE), 7))
def test_every_cut_is_truncated(size: int) -> None:
    with pytest.raises(GgufError, match=rf"ends after {size} bytes.*truncated"):
        read_header(stream(WHOLE[:size]))


@given(st.binary(max_size=400))
def test_junk_never_gets_through(raw: bytes) -> None:
    with pytest.raises(GgufError):
        read_header(stream(b"GGUF\x03\x00\x00\x00" + raw if raw[:1] < b"\x80" else raw))


@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 255))
@settings(max_examples=400)
def test_one_wrong_byte_is_read_or_refused(at: int, byte: int) -> None:
    raw = bytearray(WHOLE)
    raw[at] = byte
    try:
        header = read_header(stream(bytes(raw)))
    except GgufError:
        return
    assert isinstance(header.has_mtp_head, bool)
    assert isinstance(header.parameters, int)
    facts_from_header(header, "x")


@pytest.mark.parametrize("architecture", ["qwen35", "qwen35moe"])
@pytest.mark.parametrize("head", [True, False])
def test_a_file_that_llama_cpp_loads(tmp_path: Path, architecture: str, head: bool) -> None:
    tiny_model = pytest.importorskip("deployer.rehearsal.tiny_model")
    path = tiny_model.write(tmp_path / "tiny.gguf", architecture=architecture, mtp_head=head)
    with path.open("rb") as file:
        header = read_header(file)
    assert header.architecture == architecture
    assert header.has_mtp_head is head
    assert not header.mtp_tensors_missing
    facts = facts_from_header(header, "tiny")
    assert (facts.layers, facts.full_attention_layers, facts.kv_heads, facts.head_dim) == (4, 1, 2, 64)
    assert facts.kind == ("moe" if architecture == "qwen35moe" else "dense")
    # Measured: the tiny model's RS buffer is 0.06 MiB for one slot.
    assert round(facts.recurrent_state_bytes / (1 << 20), 2) == 0.06
