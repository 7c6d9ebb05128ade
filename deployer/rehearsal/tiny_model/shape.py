"""The synthetic model's dimensions: a Qwen3.6 in miniature, every block kind of the real one present once or more."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Shape:
    """Counts and widths, named as in GGUF's metadata. The relations between them are those of the real models."""

    trunk_layers: int = 4
    full_attention_interval: int = 4
    embedding: int = 256
    feed_forward: int = 256
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64
    rope_dim: int = 16
    rope_sections: tuple[int, ...] = (3, 3, 2, 0)
    conv_kernel: int = 4
    state: int = 32
    groups: int = 2
    time_step_rank: int = 4
    experts: int = 8
    experts_used: int = 2
    expert_feed_forward: int = 64
    shared_feed_forward: int = 64

    @property
    def inner(self) -> int:
        """Width of the delta-net's values."""
        return self.state * self.time_step_rank

    @property
    def conv_channels(self) -> int:
        """Queries, keys and values that go through the convolution together."""
        return 2 * self.state * self.groups + self.inner

    def is_full_attention(self, layer: int) -> bool:
        """Whether a trunk block attends in full; the others are gated delta-nets."""
        return (layer + 1) % self.full_attention_interval == 0


TINY = Shape()


def scaled(factor: int) -> Shape:
    """A wider and deeper one in which weights outweigh the overhead of a step: factor 2 is about 50 MB, 3 about 150."""
    if factor == 1:
        return TINY
    layers, width = TINY.trunk_layers * factor, TINY.embedding * factor
    return replace(TINY, trunk_layers=layers, embedding=width, feed_forward=3 * width)


def padding_rows(mib: int, matrices: int, shape: Shape = TINY) -> int:
    """How many unused vocabulary rows, each in so many f16 matrices, grow the file by about that many MiB."""
    return mib * 2**20 // (2 * shape.embedding * matrices)
