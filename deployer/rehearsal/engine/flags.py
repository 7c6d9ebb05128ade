"""The llama-server flags that this command carries out, as data: llama.cpp b11549's names, variables and defaults.

Its other flags are checked and read past (see parse.py); what no llama.cpp knows is refused as llama-server refuses it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from deployer.rehearsal.engine.numbers import integer, real

#: llama-server's default port since b11549.
DEFAULT_PORT = 9931


@dataclass(frozen=True)
class Member:
    """A value of one of xllamacpp's enumerations, named so that reading a command line does not load the library."""

    enumeration: str
    name: str


Value = int | float | bool | str | Member | list[str]


@dataclass(frozen=True)
class Flag:
    """One flag.

    targets: dotted attributes of xllamacpp.CommonParams that get the value, or the name by which parse.py takes
    a flag that is more than one attribute.
    value: its placeholder in the help, None for a switch. convert: text -> value, ValueError with llama.cpp's words.
    constant: what a switch sets. env: the variable that sets it too, unless the flag is given.
    """

    names: tuple[str, ...]
    targets: tuple[str, ...]
    help: str
    value: str | None = None
    convert: Callable[[str], Value] = str
    constant: Value = True
    env: str | None = None


def layers(text: str) -> int:
    """`auto`, `all` or a number of layers, as CommonParams counts them."""
    return {"auto": -1, "all": -2}.get(text) or integer(text)


def on_off(text: str) -> bool:
    """`on` or `off`."""
    if text not in ("on", "off"):
        raise ValueError(f"unknown value: '{text}'")
    return text == "on"


def listed(text: str) -> list[str]:
    """Comma-separated texts."""
    return [part for part in text.split(",") if part]


def _choice(enumeration: str, what: str, members: dict[str, str]) -> Callable[[str], Member]:
    def convert(text: str) -> Member:
        if text not in members:
            raise ValueError(f"{what}: {text}")
        return Member(enumeration, members[text])

    return convert


_CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
_SPECULATIVE = (
    "none", "draft-simple", "draft-eagle3", "draft-mtp", "draft-dflash", "draft-dspark",
    "ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache",
)  # fmt: skip
_cache_type = _choice(
    "ggml_type", "Unsupported cache type", {name: f"GGML_TYPE_{name.upper()}" for name in _CACHE_TYPES}
)
_flash = {"on": "ENABLED", "off": "DISABLED", "auto": "AUTO"}
_load = {name: name.upper().replace("+", "_") for name in ("auto", "none", "mmap", "mlock", "mmap+mlock")}
_load["dio"] = "DIRECT_IO"
_split = {name: f"LLAMA_SPLIT_MODE_{name.upper()}" for name in ("none", "layer", "row", "tensor")}
_numa = {name: f"GGML_NUMA_STRATEGY_{name.upper()}" for name in ("distribute", "isolate", "numactl")}


def speculative_type(text: str) -> Member:
    """One name of --spec-type."""
    if text not in _SPECULATIVE:
        raise ValueError(f"unknown speculative type: {text}")
    return Member("common_speculative_type", "COMMON_SPECULATIVE_TYPE_" + text.upper().replace("-", "_"))


def _arg(name: str) -> str:
    return f"LLAMA_ARG_{name}"


_MODEL = (
    Flag(("-m", "--model"), ("model.path",), "model path to load", "FNAME", env=_arg("MODEL")),
    Flag(("-a", "--alias"), ("alias",), "model name aliases, comma-separated", "STRING", listed, env=_arg("ALIAS")),
    Flag(
        ("-lm", "--load-mode"), ("load_mode",), "how to load the weights: " + "|".join(_load), "MODE",
        _choice("llama_load_mode", "unknown load mode", {k: f"LLAMA_LOAD_MODE_{v}" for k, v in _load.items()}),
        env=_arg("LOAD_MODE"),
    ),
    Flag(("--offline",), ("offline",), "no network", env=_arg("OFFLINE")),
    Flag(("--warmup",), ("warmup",), "an empty run before the first request (default)"),
    Flag(("--no-warmup",), ("warmup",), "skip it", constant=False),
)  # fmt: skip
_COMPUTE = (
    Flag(("-t", "--threads"), ("cpuparams.n_threads",), "CPU threads for generation (default: -1)", "N", integer,
         env=_arg("THREADS")),
    Flag(("-tb", "--threads-batch"), ("cpuparams_batch.n_threads",), "CPU threads for prompts (default: as --threads)",
         "N", integer),
    Flag(("-c", "--ctx-size"), ("n_ctx",), "context of all slots together (default: 0, from the model)", "N", integer,
         env=_arg("CTX_SIZE")),
    Flag(("-b", "--batch-size"), ("n_batch",), "logical batch (default: 2048)", "N", integer, env=_arg("BATCH")),
    Flag(("-ub", "--ubatch-size"), ("n_ubatch",), "physical batch (default: 512)", "N", integer, env=_arg("UBATCH")),
    Flag(("-np", "--parallel"), ("n_parallel",), "slots (default: -1, auto)", "N", integer, env=_arg("N_PARALLEL")),
    Flag(("-kvu", "--kv-unified"), ("kv_unified",), "one KV buffer for all slots", env=_arg("KV_UNIFIED")),
    Flag(("-no-kvu", "--no-kv-unified"), ("kv_unified",), "one for each slot", constant=False),
    Flag(("-fa", "--flash-attn"), ("flash_attn_type",), "flash attention: on|off|auto (default: auto)", "[on|off|auto]",
         _choice("llama_flash_attn_type", "unknown value for --flash-attn",
                 {k: f"LLAMA_FLASH_ATTN_TYPE_{v}" for k, v in _flash.items()}), env=_arg("FLASH_ATTN")),
    Flag(("-ctk", "--cache-type-k"), ("cache_type_k",), "K cache: " + ", ".join(_CACHE_TYPES), "TYPE", _cache_type,
         env=_arg("CACHE_TYPE_K")),
    Flag(("-ctv", "--cache-type-v"), ("cache_type_v",), "V cache: " + ", ".join(_CACHE_TYPES), "TYPE", _cache_type,
         env=_arg("CACHE_TYPE_V")),
    Flag(("-cram", "--cache-ram"), ("cache_ram_mib",), "prompt cache in MiB (default: 8192, 0 off, -1 no limit)", "N",
         integer, env=_arg("CACHE_RAM")),
    Flag(("-ctxcp", "--ctx-checkpoints", "--swa-checkpoints"), ("n_ctx_checkpoints",),
         "context checkpoints of a slot (default: 32)", "N", integer, env=_arg("CTX_CHECKPOINTS")),
    Flag(("--context-shift",), ("ctx_shift",), "shift the context when it is full", env=_arg("CONTEXT_SHIFT")),
    Flag(("--no-context-shift",), ("ctx_shift",), "end there (default)", constant=False),
    Flag(("--cache-reuse",), ("n_cache_reuse",), "smallest chunk to reuse from the cache", "N", integer,
         env=_arg("CACHE_REUSE")),
    Flag(("--numa",), ("numa",), "distribute|isolate|numactl", "TYPE",
         _choice("ggml_numa_strategy", "invalid value", _numa), env=_arg("NUMA")),
)  # fmt: skip
_DEVICES = (
    Flag(("-ngl", "--gpu-layers", "--n-gpu-layers"), ("n_gpu_layers",), "layers in VRAM: N, auto or all", "N", layers,
         env=_arg("N_GPU_LAYERS")),
    Flag(("-fit", "--fit"), ("fit_params",), "shrink what was not set to fit memory (default: on)", "[on|off]", on_off,
         env=_arg("FIT")),
    Flag(("-fitc", "--fit-ctx"), ("fit_params_min_ctx",), "smallest context --fit may choose (default: 4096)", "N",
         integer, env=_arg("FIT_CTX")),
    Flag(("-sm", "--split-mode"), ("split_mode",), "over several GPUs: none|layer|row|tensor", "MODE",
         _choice("llama_split_mode", "invalid value", _split), env=_arg("SPLIT_MODE")),
    Flag(("-mg", "--main-gpu"), ("main_gpu",), "the GPU for --split-mode none", "INDEX", integer, env=_arg("MAIN_GPU")),
    Flag(("-dev", "--device"), ("device",), "comma-separated devices to offload to", "DEVICES", env=_arg("DEVICE")),
    Flag(("--list-devices",), ("list-devices",), "print the devices and exit"),
)  # fmt: skip
_SPECULATION = (
    Flag(("--spec-type",), ("spec-type",), "comma-separated: " + ",".join(_SPECULATIVE), "TYPES", listed,
         env=_arg("SPEC_TYPE")),
    Flag(("--spec-draft-n-max",), ("speculative.draft.n_max",), "most tokens to draft (default: 3)", "N", integer,
         env=_arg("SPEC_DRAFT_N_MAX")),
    Flag(("--spec-draft-n-min",), ("speculative.draft.n_min",), "fewest tokens to draft (default: 0)", "N", integer,
         env=_arg("SPEC_DRAFT_N_MIN")),
    Flag(("--spec-draft-p-min", "--draft-p-min"), ("speculative.draft.p_min",),
         "least probability of a draft (default: 0.00)", "P", real, env=_arg("SPEC_DRAFT_P_MIN")),
    Flag(("--spec-draft-p-split", "--draft-p-split"), ("speculative.draft.p_split",),
         "split probability (default: 0.10)", "P", real, env=_arg("SPEC_DRAFT_P_SPLIT")),
    Flag(("--spec-draft-type-k", "-ctkd", "--cache-type-k-draft"),
         ("speculative.draft.cache_type_k",), "draft K cache", "TYPE", _cache_type,
         env=_arg("SPEC_DRAFT_CACHE_TYPE_K")),
    Flag(("--spec-draft-type-v", "-ctvd", "--cache-type-v-draft"),
         ("speculative.draft.cache_type_v",), "draft V cache", "TYPE", _cache_type,
         env=_arg("SPEC_DRAFT_CACHE_TYPE_V")),
    Flag(("--spec-draft-ngl", "-ngld", "--gpu-layers-draft", "--n-gpu-layers-draft"),
         ("speculative.draft.n_gpu_layers",), "draft layers in VRAM", "N", layers, env=_arg("N_GPU_LAYERS_DRAFT")),
    Flag(("--spec-draft-model", "-md", "--model-draft"), ("speculative.draft.mparams.path",), "draft model", "FNAME",
         env=_arg("SPEC_DRAFT_MODEL")),
)  # fmt: skip
_SERVER = (
    Flag(("--host",), ("host",), "address to listen on (default: 127.0.0.1)", "HOST", env=_arg("HOST")),
    Flag(("--port",), ("port",), f"port to listen on (default: {DEFAULT_PORT})", "PORT", integer, env=_arg("PORT")),
    Flag(("--api-key",), ("api-key",), "comma-separated API keys", "KEY", listed, env="LLAMA_API_KEY"),
    Flag(("--api-key-file",), ("api-key-file",), "file with one API key a line", "FNAME", env=_arg("API_KEY_FILE")),
    Flag(("--ssl-key-file",), ("ssl_file_key",), "PEM private key", "FNAME", env=_arg("SSL_KEY_FILE")),
    Flag(("--ssl-cert-file",), ("ssl_file_cert",), "PEM certificate", "FNAME", env=_arg("SSL_CERT_FILE")),
    Flag(("--cors-origins",), ("cors_origins",), "allowed origins (default: *)", "ORIGINS", env=_arg("CORS_ORIGINS")),
    Flag(("--metrics",), ("endpoint_metrics",), "open /metrics", env=_arg("ENDPOINT_METRICS")),
    Flag(("--slots",), ("endpoint_slots",), "open /slots (default)", env=_arg("ENDPOINT_SLOTS")),
    Flag(("--no-slots",), ("endpoint_slots",), "close /slots", constant=False),
    Flag(("--props",), ("endpoint_props",), "open POST /props", env=_arg("ENDPOINT_PROPS")),
    Flag(("--ui", "--webui"), ("ui",), "serve the web page (default)", env=_arg("UI")),
    Flag(("--no-ui", "--no-webui"), ("ui",), "do not serve the web page", constant=False),
    Flag(("--threads-http",), ("n_threads_http",), "threads for HTTP", "N", integer, env=_arg("THREADS_HTTP")),
    Flag(("-to", "--timeout"), ("timeout_read", "timeout_write"), "seconds (default: 3600)", "N", integer,
         env=_arg("TIMEOUT")),
    Flag(("--sse-ping-interval",), ("sse_ping_interval",), "seconds (default: 30)", "N", integer,
         env=_arg("SSE_PING_INTERVAL")),
    Flag(("--jinja",), ("use_jinja",), "use the model's chat template (default)", env=_arg("JINJA")),
    Flag(("--no-jinja",), ("use_jinja",), "do not use it", constant=False),
    Flag(("-lv", "--verbosity", "--log-verbosity"), ("verbosity",), "log level (default: 3)", "N", integer,
         env=_arg("LOG_VERBOSITY")),
    Flag(("--log-jsonl",), ("log_json",), "log JSON lines", env=_arg("LOG_JSONL")),
    Flag(("--no-log-jsonl",), ("log_json",), "log text (default)", constant=False),
)  # fmt: skip
_SAMPLING = (
    Flag(("-n", "--predict", "--n-predict"), ("n_predict",), "tokens to predict (default: -1)", "N", integer,
         env=_arg("N_PREDICT")),
    Flag(("-s", "--seed"), ("sampling.seed",), "random seed", "SEED", integer),
    Flag(("--temp", "--temperature"), ("sampling.temp",), "temperature (default: 0.80)", "N", real,
         env=_arg("TEMPERATURE")),
    Flag(("--top-k",), ("sampling.top_k",), "top-k (default: 40)", "N", integer, env=_arg("TOP_K")),
    Flag(("--top-p",), ("sampling.top_p",), "top-p (default: 0.95)", "N", real, env=_arg("TOP_P")),
    Flag(("--min-p",), ("sampling.min_p",), "min-p (default: 0.05)", "N", real, env=_arg("MIN_P")),
    Flag(("--presence-penalty",), ("sampling.penalty_present",), "presence penalty (default: 0.00)", "N", real,
         env=_arg("PRESENCE_PENALTY")),
)  # fmt: skip
_OUTPUT = (
    Flag(("-h", "--help", "--usage"), ("help",), "print usage and exit"),
    Flag(("--version",), ("version",), "show version and build info"),
)

GROUPS: dict[str, tuple[Flag, ...]] = {
    "common params": _OUTPUT + _MODEL + _COMPUTE + _DEVICES,
    "sampling params": _SAMPLING,
    "speculative params": _SPECULATION,
    "server-specific params": _SERVER,
}
FLAGS: tuple[Flag, ...] = tuple(flag for group in GROUPS.values() for flag in group)

_GONE_MAX = "the argument has been removed. use --spec-draft-n-max or --spec-ngram-mod-n-max"
_GONE_MIN = "the argument has been removed. use --spec-draft-n-min or --spec-ngram-mod-n-min"
#: Flags and variables that llama.cpp still knows only to say that they went (PR #22397).
REMOVED: dict[str, str] = {
    "--draft": _GONE_MAX,
    "--draft-n": _GONE_MAX,
    "--draft-max": _GONE_MAX,
    "--draft-min": _GONE_MIN,
    "--draft-n-min": _GONE_MIN,
    "--spec-ngram-size-n": "the argument has been removed. use the respective --spec-ngram-*-size-n",
    "--spec-ngram-size-m": "the argument has been removed. use the respective --spec-ngram-*-size-m",
    "--spec-ngram-min-hits": "the argument has been removed. use the respective --spec-ngram-*-min-hits",
    "LLAMA_ARG_DRAFT_MAX": _GONE_MAX,
    "LLAMA_ARG_DRAFT_MIN": _GONE_MIN,
}
