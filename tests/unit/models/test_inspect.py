"""`model inspect`: what the header says, and one sentence for every file that is no whole GGUF."""

from __future__ import annotations

import pytest

from deployer.errors import RefusedError
from deployer.models.source import SourceError
from tests.unit.engine.helpers import gguf as gguf_bytes


def test_a_file_with_an_mtp_head(gguf, look) -> None:
    path = gguf()
    found = look(path)
    assert found["architecture"] == "qwen35"
    assert found["known_architecture"] is True
    assert found["quantisation"] == "F16"
    assert (found["layers"], found["full_attention_layers"]) == (4, 1)
    assert found["experts"] == 0
    assert found["context_limit"] == 262144
    assert found["size_bytes"] == path.stat().st_size
    assert found["mtp_head"] is True
    assert "blk.4.nextn.eh_proj.weight" in found["mtp_reason"]
    assert found["notes"] == []


def test_a_file_without(gguf, look) -> None:
    found = look(gguf(head="absent"))
    assert found["mtp_head"] is False
    assert found["mtp_tensors_missing"] is False
    assert "neither" in found["mtp_reason"]


def test_a_key_without_tensors_is_called_out(gguf, look) -> None:
    found = look(gguf(head="missing-tensors"))
    assert found["mtp_head"] is False
    assert found["mtp_tensors_missing"] is True
    assert "aborts with 134" in found["mtp_reason"]
    assert any("engine.mtp" in note for note in found["notes"])


def test_an_mtp_sidecar_is_no_model_to_serve(gguf, look) -> None:
    assert any("sidecar" in note for note in look(gguf(head="only"))["notes"])


def test_experts(gguf, look) -> None:
    found = look(gguf(architecture="qwen35moe"))
    assert (found["experts"], found["experts_used"]) == (8, 2)


def test_another_architecture_is_readable_and_said_to_be_another(tmp_path, look) -> None:
    path = tmp_path / "llama.gguf"
    path.write_bytes(
        gguf_bytes(
            {"general.architecture": "llama", "general.file_type": 15, "llama.block_count": 2}, ["token_embd.weight"]
        )
        + bytes(4096)
    )
    found = look(path)
    assert found["architecture"] == "llama"
    assert found["quantisation"] == "Q4_K_M"
    assert found["known_architecture"] is False
    assert "know qwen35 and qwen35moe only" in found["notes"][0]


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (3, "truncated"),
        (20, "truncated"),
        (3000, "truncated"),
        (-1, "truncated: its tensors need"),
        (-1_000_000, "truncated: its tensors need"),
    ],
)
def test_a_truncated_file(gguf, look, tmp_path, cut, words) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(gguf().read_bytes()[:cut])
    with pytest.raises(SourceError, match=words) as refused:
        look(path)
    assert refused.value.exit_code == 3
    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"PK\x03\x04 a zip", "not a GGUF file"),
        (b"<!DOCTYPE html><title>log in</title>", "a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
        (b"GGUF\x00\x00\x00\x03" + bytes(64), "big-endian"),
        (b"GGUF\x03\x00\x00\x00" + b"\xff" * 64, "damaged"),
    ],
)
def test_junk(tmp_path, look, content, words) -> None:
    path = tmp_path / "junk.gguf"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=words):
        look(path)


def test_what_is_no_file(tmp_path, look) -> None:
    with pytest.raises(SourceError, match="is a directory"):
        look(tmp_path)
    with pytest.raises(SourceError, match="there is no file"):
        look(tmp_path / "none.gguf")


def test_a_header_that_never_ends_is_given_up(gguf, tmp_path) -> None:
    from deployer.models.reader import read_model_header
    from deployer.models.source import FileSource
    from tests.support.clock import FakeClock

    source = FileSource(str(gguf()))
    with pytest.raises(RefusedError, match="does not end within 0 MiB"):
        read_model_header(source, FakeClock(), limit=4096)
    source.close()
