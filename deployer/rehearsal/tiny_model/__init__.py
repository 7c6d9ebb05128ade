"""A synthetic GGUF of a few MB in Qwen3.6's architecture that real llama.cpp loads, serves and drafts with.

numpy and gguf (the `rehearsal` extra) are imported only when a file is written.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from deployer.rehearsal.tiny_model.variant import MtpHead, TinyArchitecture, Variant

__all__ = ["MtpHead", "TinyArchitecture", "Variant", "cached", "write", "write_variant"]

#: Part of the cache's file names: raise it when the same variant gets other bytes.
FORMAT = 1


def write(
    path: Path,
    *,
    architecture: TinyArchitecture = "qwen35",
    mtp_head: bool = True,
    accept: float = 0.75,
    endless: bool = False,
    padding_mib: int = 0,
    context_length: int = 262144,
) -> Path:
    """Write a synthetic model to path and return path. See Variant for the arguments."""
    head: MtpHead = "present" if mtp_head else "absent"
    return write_variant(path, Variant(architecture, head, accept, endless, padding_mib, context_length))


def write_variant(path: Path, variant: Variant) -> Path:
    """Write the variant to path, which appears only when it is complete. The folder is made if needed."""
    from deployer.rehearsal.tiny_model.writer import write_gguf

    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    draft = Path(name)
    try:
        write_gguf(draft, variant)
        draft.chmod(0o644)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def cached(cache_dir: Path, variant: Variant) -> Path:
    """The variant's file in cache_dir, written on first use.

    Safe for several processes at once: each would write the same bytes, and whoever is last renames over the others.
    """
    path = cache_dir / f"v{FORMAT}-{variant.file_name}"
    return path if path.exists() else write_variant(path, variant)
