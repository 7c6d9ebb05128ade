"""What a GGUF is, in the words of `model inspect`. Pure."""

from __future__ import annotations

from deployer.catalog import models as catalogue
from deployer.engine.gguf import GgufHeader
from deployer.engine.gguf_facts import facts_from_header
from deployer.events import Json
from deployer.models.layout import least_size

#: Tensors every GGUF model with a trunk has; the MTP-only sidecar lacks them.
_TRUNK = "blk.0.attn_norm.weight"


def known_architectures() -> tuple[str, ...]:
    """What deployer's rules for memory, MTP and speed were made for."""
    return tuple(sorted({facts.architecture for facts in catalogue.all_models()}))


def shortfall(header: GgufHeader, size: int) -> str | None:
    """The sentence for a file whose header is whole but whose weights are not, else None. size in bytes."""
    least = least_size(header)
    if size >= least:
        return None
    return f"the file is truncated: its tensors need {least:,} bytes and it has {size:,}"


def document(header: GgufHeader, shown: str, file: str, size: int) -> dict[str, Json]:
    """The document of `model inspect --json`. shown: where the file lies, without secrets."""
    facts = facts_from_header(header, file.removesuffix(".gguf"))
    return {
        "source": shown,
        "file": file,
        "size_bytes": size,
        "architecture": header.architecture,
        "known_architecture": header.architecture in known_architectures(),
        "name": header.name,
        "quantisation": header.file_type,
        "parameters": header.parameters,
        "context_limit": header.context_length or None,
        "layers": facts.layers,
        "full_attention_layers": facts.full_attention_layers,
        "experts": header.number("expert_count"),
        "experts_used": header.number("expert_used_count"),
        "vocabulary": facts.vocab or None,
        "mtp_head": header.has_mtp_head,
        "mtp_tensors_missing": header.mtp_tensors_missing,
        "mtp_reason": mtp_reason(header),
        "tensors": len(header.tensors),
        "header_bytes": header.header_bytes,
        "gguf_version": header.version,
        "notes": list(notes(header)),
    }


def mtp_reason(header: GgufHeader) -> str:
    """Why the file has an MTP head or not; completes `yes: ` or `no: `."""
    tensor = f"blk.{header.block_count - 1}.nextn.eh_proj.weight"
    key = f"{header.architecture}.nextn_predict_layers"
    if header.has_mtp_head:
        promised = "" if header.nextn_predict_layers else f", although the key {key} is missing"
        return f"the tensor {tensor} is there{promised}"
    if header.mtp_tensors_missing:
        return (
            f"the key {key} promises it, but the tensor {tensor} is missing; "
            "llama-server aborts with 134 when it is asked to draft with this file"
        )
    return f"there is neither the key {key} nor a nextn tensor"


def notes(header: GgufHeader) -> tuple[str, ...]:
    """What a person should know before serving it."""
    found = []
    known = known_architectures()
    if header.architecture not in known:
        found.append(
            f"deployer's rules know {' and '.join(known)} only; for {header.architecture} "
            "memory is estimated from the header, and MTP stays off"
        )
    if header.mtp_tensors_missing:
        found.append("do not serve it with engine.mtp: on; take the file from a repository with MTP in its name")
    if header.block_count and not any(tensor.name == _TRUNK for tensor in header.tensors):
        found.append("there is no trunk in it: it is an MTP sidecar or another part, not a model to serve alone")
    shards = header.metadata.get("split.count", 0)
    if isinstance(shards, int) and shards > 1:
        found.append(f"it is one of {shards} pieces; deployer serves single files: join them with llama-gguf-split")
    if header.file_type is None:
        found.append("the file does not name its quantisation")
    return tuple(found)
