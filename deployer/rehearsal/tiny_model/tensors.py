"""The synthetic weights.

Embedding rows are random directions of length sqrt(width): RMS norm leaves them nearly alone and they are nearly
orthogonal. The output head's row of a token is the sum of the embeddings of its predecessors, so the logit of the one
right successor stands about LOGIT_GAP above all others and neither greedy choice nor sampling leaves the walk. What
attention, delta-net and feed-forward add to the stream is far too small to change that, yet every kernel runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deployer.rehearsal.tiny_model.shape import Shape
from deployer.rehearsal.tiny_model.variant import Variant
from deployer.rehearsal.tiny_model.vocabulary import Vocabulary

Array = NDArray[np.float32]

LOGIT_GAP = 30.0
#: Spread of projections into a block, and of those back into the residual stream.
INWARD, OUTWARD = 0.02, 0.002
#: How far on a wrong draft points; any number that is never the true successor would do.
WRONG_STEP = 7


@dataclass(frozen=True)
class Tensor:
    """values in numpy order, the reverse of ggml's. matrix: stored as f16; the rest (norms, biases) stays f32."""

    name: str
    values: Array
    matrix: bool


class Weights:
    """Draws every tensor of one variant in a fixed order from one seeded source, so the file is the same each time."""

    def __init__(self, shape: Shape, vocabulary: Vocabulary, variant: Variant) -> None:
        self._shape = shape
        self._vocabulary = vocabulary
        self._variant = variant
        self._random = np.random.default_rng(variant.seed)
        self._embedding = self._draw_embedding()

    def tensors(self) -> Iterator[Tensor]:
        """Every tensor of the file in file order."""
        width = self._shape.embedding
        yield Tensor("token_embd.weight", self._embedding, matrix=True)
        yield _ones("output_norm.weight", width)
        yield Tensor("output.weight", self._head(self._vocabulary.successor), matrix=True)
        if self._variant.head != "only":
            for layer in range(self._shape.trunk_layers):
                yield from self._block(layer, full_attention=self._shape.is_full_attention(layer))
        if self._variant.has_block:
            yield from self._mtp_block(self._shape.trunk_layers)

    def _draw_embedding(self) -> Array:
        width = self._shape.embedding
        rows = self._random.standard_normal((len(self._vocabulary.texts), width), dtype=np.float32)
        lengths: Array = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows * (np.float32(np.sqrt(width)) / lengths)

    def _head(self, successor: Mapping[int, int]) -> Array:
        head = np.zeros_like(self._embedding)
        gain = np.float32(LOGIT_GAP / self._shape.embedding)
        for token, following in successor.items():
            head[following] += gain * self._embedding[token]
        return head

    def _mistaken(self) -> dict[int, int]:
        """The successors as the MTP head sees them: a share of the answer's tokens points WRONG_STEP too far."""
        answer = self._vocabulary.answer
        wrong = round((1.0 - self._variant.accept) * len(answer))
        believed = dict(self._vocabulary.successor)
        for place in self._random.permutation(len(answer))[:wrong]:
            believed[answer[place]] = answer[(place + WRONG_STEP) % len(answer)]
        return believed

    def _noise(self, name: str, *dimensions: int, spread: float = INWARD) -> Tensor:
        values = self._random.standard_normal(dimensions, dtype=np.float32) * np.float32(spread)
        return Tensor(name, values, matrix=True)

    def _block(self, layer: int, *, full_attention: bool) -> Iterator[Tensor]:
        prefix = f"blk.{layer}"
        yield _ones(f"{prefix}.attn_norm.weight", self._shape.embedding)
        yield _ones(f"{prefix}.post_attention_norm.weight", self._shape.embedding)
        yield from self._attention(prefix) if full_attention else self._delta_net(prefix)
        yield from self._experts(prefix) if self._variant.architecture == "qwen35moe" else self._feed_forward(prefix)

    def _attention(self, prefix: str) -> Iterator[Tensor]:
        shape, width = self._shape, self._shape.embedding
        queries = shape.heads * shape.head_dim
        yield self._noise(f"{prefix}.attn_q.weight", 2 * queries, width)  # query and output gate together
        yield self._noise(f"{prefix}.attn_k.weight", shape.kv_heads * shape.head_dim, width)
        yield self._noise(f"{prefix}.attn_v.weight", shape.kv_heads * shape.head_dim, width)
        yield self._noise(f"{prefix}.attn_output.weight", width, queries, spread=OUTWARD)
        yield _ones(f"{prefix}.attn_q_norm.weight", shape.head_dim)
        yield _ones(f"{prefix}.attn_k_norm.weight", shape.head_dim)

    def _delta_net(self, prefix: str) -> Iterator[Tensor]:
        shape, width = self._shape, self._shape.embedding
        yield self._noise(f"{prefix}.attn_qkv.weight", shape.conv_channels, width)
        yield self._noise(f"{prefix}.attn_gate.weight", shape.inner, width)
        yield _plain(self._noise(f"{prefix}.ssm_conv1d.weight", shape.conv_channels, shape.conv_kernel, spread=0.3))
        yield _plain(self._noise(f"{prefix}.ssm_dt.bias", shape.time_step_rank, spread=0.5))
        decay = self._noise(f"{prefix}.ssm_a", shape.time_step_rank, spread=0.5)
        yield Tensor(decay.name, -np.exp(decay.values), matrix=False)
        yield self._noise(f"{prefix}.ssm_alpha.weight", shape.time_step_rank, width)
        yield self._noise(f"{prefix}.ssm_beta.weight", shape.time_step_rank, width)
        yield _ones(f"{prefix}.ssm_norm.weight", shape.state)
        yield self._noise(f"{prefix}.ssm_out.weight", width, shape.inner, spread=OUTWARD)

    def _feed_forward(self, prefix: str) -> Iterator[Tensor]:
        width, hidden = self._shape.embedding, self._shape.feed_forward
        yield self._noise(f"{prefix}.ffn_gate.weight", hidden, width)
        yield self._noise(f"{prefix}.ffn_up.weight", hidden, width)
        yield self._noise(f"{prefix}.ffn_down.weight", width, hidden, spread=OUTWARD)

    def _experts(self, prefix: str) -> Iterator[Tensor]:
        shape, width = self._shape, self._shape.embedding
        routed, shared = shape.expert_feed_forward, shape.shared_feed_forward
        yield _plain(self._noise(f"{prefix}.ffn_gate_inp.weight", shape.experts, width))
        yield self._noise(f"{prefix}.ffn_gate_exps.weight", shape.experts, routed, width)
        yield self._noise(f"{prefix}.ffn_up_exps.weight", shape.experts, routed, width)
        yield self._noise(f"{prefix}.ffn_down_exps.weight", shape.experts, width, routed, spread=OUTWARD)
        yield _plain(self._noise(f"{prefix}.ffn_gate_inp_shexp.weight", width))
        yield self._noise(f"{prefix}.ffn_gate_shexp.weight", shared, width)
        yield self._noise(f"{prefix}.ffn_up_shexp.weight", shared, width)
        yield self._noise(f"{prefix}.ffn_down_shexp.weight", width, shared, spread=OUTWARD)

    def _mtp_block(self, layer: int) -> Iterator[Tensor]:
        width = self._shape.embedding
        yield from self._block(layer, full_attention=True)
        prefix = f"blk.{layer}.nextn"
        # Sees the last token's embedding as it is and next to nothing of the hidden state beside it.
        hidden = self._noise("", width, width, spread=OUTWARD).values
        projection = np.concatenate([np.eye(width, dtype=np.float32), hidden], axis=1)
        yield Tensor(f"{prefix}.eh_proj.weight", projection, matrix=True)
        for norm in ("enorm", "hnorm", "shared_head_norm"):
            yield _ones(f"{prefix}.{norm}.weight", width)
        if self._variant.own_head:
            yield Tensor(f"{prefix}.shared_head_head.weight", self._head(self._mistaken()), matrix=True)


def _ones(name: str, length: int) -> Tensor:
    return Tensor(name, np.ones(length, dtype=np.float32), matrix=False)


def _plain(tensor: Tensor) -> Tensor:
    """The same tensor, kept in f32 as llama.cpp wants it."""
    return Tensor(tensor.name, tensor.values, matrix=False)
