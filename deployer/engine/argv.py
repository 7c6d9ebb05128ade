"""Choices -> argument list. Nothing that matters is left to a default: llama.cpp's move between builds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deployer.decide.types import MtpChoice
from deployer.engine.dialect import Dialect
from deployer.engine.extra_args import names_used

#: llama.cpp pads a slot's cache to this many tokens.
CONTEXT_STEP = 256
#: More than any model has: every layer, the MTP block too.
_ALL_LAYERS = "999"
#: A streaming request holds the server's end back until its next ping; the default of 30 s outlasts a service manager.
_SSE_PING_SECONDS = "5"


@dataclass(frozen=True)
class ArgvInputs:
    """context: tokens for each slot. prompt_cache_mib, checkpoints (for each slot): host memory.

    tls: files of the private key and the certificate; None for plain HTTP.
    """

    model_path: str
    alias: str
    host: str
    port: int
    api_key_file: str
    context: int
    parallel: int
    threads: int
    gpu: bool
    cache_type_k: str
    cache_type_v: str
    flash_attention: str
    prompt_cache_mib: int
    checkpoints: int
    mtp: MtpChoice
    tls: tuple[str, str] | None = None
    extra_args: Sequence[str] = ()


def padded_context(context: int) -> int:
    """A slot's context as llama.cpp allocates it."""
    return -(-context // CONTEXT_STEP) * CONTEXT_STEP


def render_argv(inputs: ArgvInputs, dialect: Dialect) -> tuple[str, ...]:
    """Everything after the program's name. The user's own arguments come last and replace ours of the same name."""
    taken = names_used(inputs.extra_args, dialect)
    words: list[str] = []
    for flag, *values in _pairs(inputs):
        if flag not in taken:
            words += [flag, *values]
    return (*words, *inputs.extra_args)


def _pairs(inputs: ArgvInputs) -> list[tuple[str, ...]]:
    # -c is the sum over the slots: llama.cpp divides it by -np.
    total_context = padded_context(inputs.context) * inputs.parallel
    pairs: list[tuple[str, ...]] = [
        ("--host", inputs.host),
        ("--port", str(inputs.port)),
        ("-m", inputs.model_path),
        ("--alias", inputs.alias),
        ("--api-key-file", inputs.api_key_file),
        ("-c", str(total_context)),
        ("-np", str(inputs.parallel)),
        ("-t", str(inputs.threads)),
        ("-tb", str(inputs.threads)),
        ("-fa", inputs.flash_attention),
        ("-ctk", inputs.cache_type_k),
        ("-ctv", inputs.cache_type_v),
        # What we compute is what runs: --fit would shrink a context in silence, and crashed together with MTP.
        ("--fit", "off"),
        ("--cache-ram", str(inputs.prompt_cache_mib)),
        ("--ctx-checkpoints", str(inputs.checkpoints)),
        ("--metrics",),
        ("--no-ui",),
        ("--cors-origins", "localhost"),
        ("--sse-ping-interval", _SSE_PING_SECONDS),
    ]
    if inputs.tls:
        pairs += [("--ssl-key-file", inputs.tls[0]), ("--ssl-cert-file", inputs.tls[1])]
    if inputs.gpu:
        pairs.append(("-ngl", _ALL_LAYERS))
    if inputs.mtp.enabled:
        # Left out when off, never `none`: values of --spec-type add up.
        pairs += [
            ("--spec-type", "draft-mtp"),
            ("--spec-draft-n-max", str(inputs.mtp.draft_n_max)),
            ("--spec-draft-p-min", str(inputs.mtp.draft_p_min)),
        ]
    return pairs
