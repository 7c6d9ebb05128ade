"""The synthetic file: the same bytes each time, the keys and tensors of a real one, a complete file or none."""

from __future__ import annotations

import hashlib
import threading

import pytest

from deployer.engine import gguf
from deployer.rehearsal import tiny_model
from deployer.rehearsal.tiny_model import Variant, vocabulary


def _digest(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_same_variant_has_the_same_bytes_and_another_seed_has_not(tmp_path):
    one = tiny_model.write(tmp_path / "one.gguf")
    two = tiny_model.write(tmp_path / "sub" / "two.gguf")
    other = tiny_model.write_variant(tmp_path / "other.gguf", Variant(seed=1))
    assert _digest(one) == _digest(two) != _digest(other)


@pytest.mark.parametrize("architecture", ["qwen35", "qwen35moe"])
@pytest.mark.parametrize(
    ("head", "claims", "carries"),
    [("present", 1, True), ("absent", 0, False), ("missing-tensors", 1, False), ("only", 1, True)],
)
def test_the_product_reads_the_head_from_the_tensors(models, architecture, head, claims, carries):
    with models(Variant(architecture, head)).open("rb") as stream:
        header = gguf.read_header(stream)
    assert header.architecture == architecture
    assert header.nextn_predict_layers == claims
    assert header.block_count == 4 + claims
    assert header.has_mtp_head is carries


def test_context_length_and_padding(models, tmp_path):
    with models(Variant(context_length=4096)).open("rb") as stream:
        assert gguf.read_header(stream).context_length == 4096
    plain = models(Variant()).stat().st_size
    padded = tiny_model.write(tmp_path / "padded.gguf", padding_mib=16).stat().st_size
    assert 15 * 2**20 < padded - plain < 19 * 2**20


def test_many_at_once_make_one_whole_file(tmp_path):
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(tiny_model.cached(tmp_path, Variant()).stat().st_size))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["v1-tiny-qwen35-mtp.gguf"]


def test_nothing_is_left_when_writing_fails(tmp_path, monkeypatch):
    monkeypatch.setattr("deployer.rehearsal.tiny_model.writer.padding_rows", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tiny_model.write(tmp_path / "model.gguf")
    assert list(tmp_path.iterdir()) == []


def test_names_tell_variants_apart():
    variants = [
        Variant(), Variant("qwen35moe"), Variant(head="absent"), Variant(head="missing-tensors"), Variant(head="only"),
        Variant(accept=0.5), Variant(endless=True), Variant(padding_mib=8), Variant(context_length=512),
        Variant(seed=3),
    ]  # fmt: skip
    assert len({variant.file_name for variant in variants}) == len(variants)
    assert Variant().file_name == "tiny-qwen35-mtp.gguf"


@pytest.mark.parametrize("accept", [-0.1, 1.1])
def test_acceptance_is_a_share(accept):
    with pytest.raises(ValueError, match="between 0 and 1"):
        Variant(accept=accept)


def test_the_walk_visits_each_word_once_and_ends():
    words = vocabulary.build(endless=False, padding_rows=0)
    assert len(set(words.texts)) == len(words.texts)
    at, seen = words.texts.index("<think>"), []
    while at in words.successor and at not in seen:
        seen.append(at)
        at = words.successor[at]
    assert [words.texts[token] for token in seen[-2:]] == ["<|im_end|>", "<|endoftext|>"]
    assert set(words.answer) <= set(seen)
    endless = vocabulary.build(endless=True, padding_rows=0)
    assert endless.successor[endless.answer[-1]] == endless.answer[0]
