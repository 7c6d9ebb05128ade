"""Models the catalogue knows, and the GGUF files they come in."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from deployer.catalog.source import cite, document
from deployer.catalog.types import GgufFile, ModelFacts

_F32_BYTES = 4


@lru_cache(maxsize=64)
def lookup(name: str) -> ModelFacts | None:
    """The model called `name` (exactly as written), or None."""
    row = document("models")["models"].get(name)
    return _facts(name, row) if row else None


def all_models() -> list[ModelFacts]:
    """Every known model."""
    found = [lookup(name) for name in document("models")["models"]]
    return [facts for facts in found if facts is not None]


def quants(facts: ModelFacts) -> list[str]:
    """The quantisations of a model, each once, small to large."""
    sizes = {file.quant: file.size_estimate_bytes for file in reversed(facts.files)}
    return sorted(sizes, key=lambda quant: sizes[quant])


def file_for(facts: ModelFacts, quant: str) -> GgufFile | None:
    """The file of `quant`: the one with an MTP head when both are offered, it serves with MTP off just as well."""
    matching = [file for file in facts.files if file.quant == quant]
    return max(matching, key=lambda file: file.mtp_head is True, default=None)


def file_in(repo: str, file_name: str) -> tuple[ModelFacts, GgufFile] | None:
    """The catalogue's entry for a file of a hub repository, when it has one."""
    for facts in all_models():
        for file in facts.files:
            if (file.repo, file.file) == (repo, file_name):
                return facts, file
    return None


def recurrent_state_bytes(
    *, delta_layers: int, conv_kernel: int, state_size: int, group_count: int, inner_size: int
) -> int:
    """Delta-net state of one sequence: per layer an f32 matrix and the tail of the convolution.

    The two terms are llama.cpp's n_embd_s() and n_embd_r(), which allocate this memory.
    """
    matrix = state_size * inner_size
    convolution = (conv_kernel - 1) * (inner_size + 2 * group_count * state_size)
    return delta_layers * (matrix + convolution) * _F32_BYTES


def _facts(name: str, row: dict[str, Any]) -> ModelFacts:
    ssm = row["ssm"]
    return ModelFacts(
        name=name,
        architecture=row["architecture"],
        kind=row["kind"],
        layers=row["layers"],
        full_attention_layers=row["full_attention_layers"],
        kv_heads=row["kv_heads"],
        head_dim=row["head_dim"],
        hidden=row["hidden"],
        recurrent_state_bytes=recurrent_state_bytes(
            delta_layers=row["layers"] - row["full_attention_layers"],
            conv_kernel=ssm["conv_kernel"],
            state_size=ssm["state_size"],
            group_count=ssm["group_count"],
            inner_size=ssm["state_size"] * ssm["time_step_rank"],
        ),
        context_limit=row["context_limit"],
        vocab=row["vocab"],
        alias=row["alias"],
        default_quant=row["default_quant"],
        files=tuple(
            _file(quant, repo, entry["mtp_head"], file)
            for repo, entry in row["repositories"].items()
            for quant, file in entry["files"].items()
        ),
        source=cite("models"),
        attention_heads=row["attention_heads"],
    )


def _file(quant: str, repo: str, mtp_head: bool | None, row: dict[str, Any]) -> GgufFile:
    return GgufFile(
        quant=quant,
        file=row["file"],
        repo=repo,
        mtp_head=mtp_head,
        size_bytes=row.get("size_bytes"),
        size_estimate_bytes=row["size_estimate_bytes"],
        sha256=row.get("sha256"),
        source=row["source"],
    )
