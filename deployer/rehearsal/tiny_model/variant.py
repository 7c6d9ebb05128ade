"""Which synthetic model: a frozen value, and the file name that follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TinyArchitecture = Literal["qwen35", "qwen35moe"]
#: present: MTP block and key. absent: neither. missing-tensors: the key without the tensors (llama.cpp aborts on it).
#: only: MTP block, embeddings and output head without a trunk, the `mtp-*.gguf` sidecar.
MtpHead = Literal["present", "absent", "missing-tensors", "only"]


@dataclass(frozen=True)
class Variant:
    """One synthetic model.

    accept: share of the answer's tokens that the MTP head predicts rightly, 0 to 1; 1 shares the trunk's output head
    as real Qwen files do. endless: the answer starts again instead of ending. padding_mib: about that many MiB of
    unused vocabulary rows, to make a download or a load take time. context_length: tokens the file claims to be for.
    scale: how much wider and deeper than a few MB, see shape.scaled.
    """

    architecture: TinyArchitecture = "qwen35"
    head: MtpHead = "present"
    accept: float = 0.75
    endless: bool = False
    padding_mib: int = 0
    context_length: int = 262144
    seed: int = 0
    scale: int = 1

    def __post_init__(self) -> None:
        if not 0.0 <= self.accept <= 1.0:
            raise ValueError(f"accept is a share between 0 and 1, not {self.accept}")
        if self.padding_mib < 0 or min(self.context_length, self.scale) < 1:
            raise ValueError("padding_mib must not be negative, context_length and scale must be positive")

    @property
    def has_block(self) -> bool:
        """Whether the MTP tensors are in the file."""
        return self.head in ("present", "only")

    @property
    def own_head(self) -> bool:
        """Whether the MTP block brings an output head of its own, which is what makes it err."""
        return self.has_block and self.accept < 1.0

    @property
    def file_name(self) -> str:
        """A name that tells every field that differs from the default, e.g. `tiny-qwen35-mtp.gguf`."""
        suffix = {"present": "mtp", "absent": "nomtp", "missing-tensors": "hollow", "only": "mtponly"}[self.head]
        parts = ["tiny", self.architecture, suffix]
        if self.has_block and self.accept != Variant.accept:
            parts.append(f"a{self.accept * 100:g}")
        if self.endless:
            parts.append("endless")
        if self.padding_mib:
            parts.append(f"pad{self.padding_mib}")
        if self.context_length != Variant.context_length:
            parts.append(f"ctx{self.context_length}")
        if self.scale != Variant.scale:
            parts.append(f"x{self.scale}")
        if self.seed != Variant.seed:
            parts.append(f"s{self.seed}")
        return "-".join(parts) + ".gguf"
