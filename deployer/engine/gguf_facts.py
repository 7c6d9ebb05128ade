"""GgufHeader -> ModelFacts: what the memory model needs, for a model the catalogue does not know."""

from __future__ import annotations

from typing import Literal

from deployer.catalog.models import recurrent_state_bytes
from deployer.catalog.types import ModelFacts
from deployer.engine.gguf import GgufHeader


def facts_from_header(header: GgufHeader, alias: str) -> ModelFacts:
    """The shape of any GGUF transformer or Qwen3.6-style hybrid; unknown numbers are 0 and then cost nothing."""
    mtp_layers = header.nextn_predict_layers
    layers = max(0, header.block_count - mtp_layers)
    interval = header.number("full_attention_interval") or 1
    full_attention = layers // interval
    heads = header.number("attention.head_count")
    hidden = header.number("embedding_length")
    kind: Literal["dense", "moe"] = "moe" if header.number("expert_count") else "dense"
    return ModelFacts(
        name=header.name or alias,
        architecture=header.architecture,
        kind=kind,
        layers=layers,
        full_attention_layers=full_attention,
        kv_heads=header.number("attention.head_count_kv") or heads,
        head_dim=header.number("attention.key_length") or (hidden // heads if heads else 0),
        hidden=hidden,
        recurrent_state_bytes=recurrent_state_bytes(
            delta_layers=layers - full_attention,
            conv_kernel=header.number("ssm.conv_kernel") or 1,
            state_size=header.number("ssm.state_size"),
            group_count=header.number("ssm.group_count"),
            inner_size=header.number("ssm.inner_size"),
        ),
        context_limit=header.context_length,
        vocab=header.array_lengths.get("tokenizer.ggml.tokens", 0),
        alias=alias,
        default_quant=header.file_type or "",
        files=(),
        source="the GGUF's own header",
        attention_heads=heads,
        mtp_layers=max(1, mtp_layers),
    )
