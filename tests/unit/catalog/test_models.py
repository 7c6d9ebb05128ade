from __future__ import annotations

import pytest

from deployer.catalog import models
from deployer.catalog.types import GgufFile, ModelFacts

MIB = 1 << 20
MODELS = models.all_models()
FILES = [(facts, file) for facts in MODELS for file in facts.files]


def facts_of(name: str) -> ModelFacts:
    found = models.lookup(name)
    assert found is not None
    return found


@pytest.mark.parametrize(("name", "mib"), [("Qwen3.6-27B", 149.625), ("Qwen3.6-35B-A3B", 62.8125)])
def test_recurrent_state_is_what_llama_cpp_logs(name: str, mib: float) -> None:
    # Logs: 188.44 MiB for 35B-A3B at one slot and n_max 2, that is three copies.
    assert facts_of(name).recurrent_state_bytes == mib * MIB


def test_logged_recurrent_state() -> None:
    assert round(3 * facts_of("Qwen3.6-35B-A3B").recurrent_state_bytes / MIB, 2) == 188.44


@pytest.mark.parametrize("facts", MODELS, ids=lambda facts: facts.name)
def test_sane(facts: ModelFacts) -> None:
    assert facts.layers % facts.full_attention_layers == 0
    assert facts.layers // facts.full_attention_layers == 4
    assert facts.attention_heads % facts.kv_heads == 0
    assert facts.context_limit == 262144
    assert models.file_for(facts, facts.default_quant) is not None
    assert facts.architecture == ("qwen35moe" if facts.kind == "moe" else "qwen35")
    assert set(models.quants(facts)) == {file.quant for file in facts.files}


@pytest.mark.parametrize(("facts", "file"), FILES, ids=lambda value: getattr(value, "file", getattr(value, "name", "")))
def test_file(facts: ModelFacts, file: GgufFile) -> None:
    assert file.file == f"{facts.name}-{file.quant}.gguf"
    assert ("MTP" in file.repo) == (file.mtp_head is True)
    assert 10e9 < file.size_estimate_bytes < 80e9
    assert file.size_bytes in (None, file.size_estimate_bytes)
    assert file.source
    assert models.file_in(file.repo, file.file) == (facts, file)


@pytest.mark.parametrize("name", ["Qwen3.6-27B", "Qwen3.6-35B-A3B"])
def test_the_head_is_preferred(name: str) -> None:
    facts = facts_of(name)
    default = models.file_for(facts, facts.default_quant)
    assert default is not None
    assert default.mtp_head is True
    assert default.repo == f"unsloth/{name}-MTP-GGUF"


def test_a_quant_without_head_is_still_found() -> None:
    file = models.file_for(facts_of("Qwen3.6-27B"), "IQ4_XS")
    assert file is not None
    assert file.mtp_head is False


def test_quants_grow() -> None:
    assert models.quants(facts_of("Qwen3.6-35B-A3B")) == ["UD-IQ4_XS", "UD-Q4_K_M", "UD-Q4_K_XL", "Q8_0"]


def test_unknown() -> None:
    assert models.lookup("qwen3.6-27b") is None
    assert models.file_for(facts_of("Qwen3.6-27B"), "Q9") is None
    assert models.file_in("unsloth/Qwen3.6-27B-GGUF", "other.gguf") is None
