"""Puts vocabulary, metadata and weights into a GGUF file with the keys and tensor names of a real Qwen3.6 file."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

from deployer.rehearsal.tiny_model import vocabulary
from deployer.rehearsal.tiny_model.shape import Shape, padding_rows, scaled
from deployer.rehearsal.tiny_model.tensors import Weights
from deployer.rehearsal.tiny_model.variant import Variant
from deployer.rehearsal.tiny_model.vocabulary import Vocabulary

FILE_TYPE_MOSTLY_F16 = 1


def write_gguf(path: Path, variant: Variant) -> None:
    """Write the variant to path, over whatever is there. The bytes depend on the variant only."""
    # Embeddings, output head, and the MTP block's own head.
    shape = scaled(variant.scale)
    padding = padding_rows(variant.padding_mib, 2 + variant.own_head, shape)
    words = vocabulary.build(endless=variant.endless, padding_rows=padding)
    writer = gguf.GGUFWriter(str(path), variant.architecture)
    try:
        _add_general(writer, variant)
        _add_shape(writer, shape, variant)
        _add_tokenizer(writer, words)
        for tensor in Weights(shape, words, variant).tensors():
            writer.add_tensor(tensor.name, tensor.values.astype(np.float16) if tensor.matrix else tensor.values)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
    finally:
        writer.close()


def _add_general(writer: gguf.GGUFWriter, variant: Variant) -> None:
    writer.add_type("model")
    writer.add_name(variant.file_name.removesuffix(".gguf"))
    writer.add_description("Synthetic weights for rehearsals; not a language model")
    writer.add_license("cc0-1.0")
    writer.add_file_type(FILE_TYPE_MOSTLY_F16)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)


def _add_shape(writer: gguf.GGUFWriter, shape: Shape, variant: Variant) -> None:
    claims_mtp = variant.head != "absent"
    # block_count counts the MTP block too.
    writer.add_block_count(shape.trunk_layers + claims_mtp)
    writer.add_context_length(variant.context_length)
    writer.add_embedding_length(shape.embedding)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(shape.rope_dim)
    writer.add_rope_dimension_sections(list(shape.rope_sections))
    writer.add_rope_freq_base(1e7)
    writer.add_ssm_conv_kernel(shape.conv_kernel)
    writer.add_ssm_state_size(shape.state)
    writer.add_ssm_group_count(shape.groups)
    writer.add_ssm_time_step_rank(shape.time_step_rank)
    writer.add_ssm_inner_size(shape.inner)
    writer.add_uint32(f"{variant.architecture}.full_attention_interval", shape.full_attention_interval)
    if claims_mtp:
        writer.add_uint32(f"{variant.architecture}.nextn_predict_layers", 1)
    if variant.architecture == "qwen35moe":
        writer.add_expert_count(shape.experts)
        writer.add_expert_used_count(shape.experts_used)
        writer.add_expert_feed_forward_length(shape.expert_feed_forward)
        writer.add_expert_shared_feed_forward_length(shape.shared_feed_forward)
    else:
        writer.add_feed_forward_length(shape.feed_forward)


def _add_tokenizer(writer: gguf.GGUFWriter, words: Vocabulary) -> None:
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen35")
    writer.add_token_list(list(words.texts))
    writer.add_token_types(list(words.types))
    writer.add_token_merges(list(words.merges))
    writer.add_bos_token_id(words.end_of_text)
    writer.add_eos_token_id(words.end_of_turn)
    writer.add_pad_token_id(words.end_of_text)
    writer.add_add_bos_token(False)
    writer.add_chat_template(vocabulary.CHAT_TEMPLATE)
