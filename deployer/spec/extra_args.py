"""Which llama-server arguments `engine.extra_args` may not carry, and what to use instead.

Three reasons to refuse: deployer sets the argument itself, it was removed from llama.cpp (an unknown argument is fatal
at start), or it is unsafe. Source: llama.cpp b11549 `--help`, its SECURITY.md and CVE-2026-43631.
"""

from __future__ import annotations

from collections.abc import Sequence

from deployer.spec.findings import show

_OWNED: dict[str, tuple[str, ...]] = {
    "endpoint.expose": ("--host",),
    "endpoint.port": ("--port",),
    "engine.context": ("-c", "--ctx-size"),
    "engine.parallel": ("-np", "--parallel"),
    "engine.threads": ("-t", "--threads"),
    "engine.cache_type_k": ("-ctk", "--cache-type-k"),
    "engine.cache_type_v": ("-ctv", "--cache-type-v"),
    "engine.flash_attention": ("-fa", "--flash-attn"),
    "model.source and model.file": (
        *("-m", "--model", "-mu", "--model-url", "-hf", "-hfr", "--hf-repo", "-hff", "--hf-file", "-hft", "--hf-token"),
        *("-dr", "--docker-repo"),
    ),
    "model.alias": ("-a", "--alias"),
    "engine.mtp": (
        *("-md", "--model-draft", "-hfd", "--hf-repo-draft", "--draft-p-min", "--draft-p-split", "-ctkd", "-ctvd"),
        *("--draft", "--draft-n", "--draft-max", "--draft-min", "--draft-n-min", "-ngld", "-devd"),
    ),
}
_OWNED_PREFIXES = {"--spec-": "engine.mtp"}

_LOAD_MODE = 'was removed from llama.cpp; write ["--load-mode", "mmap"] (auto, none, mmap, mlock, mmap+mlock or dio)'
_API_KEY = "is refused: deployer makes the API key and hands it over in a file; a key in a spec is a key in plain text"
_SHELL = "is refused: it lets a request run commands on the instance"
_ROUTER = "is refused: router mode serves models that were not chosen and not verified"
_ENDS = "is refused: llama-server would print something and end"
_REFUSED: dict[str, str] = {
    "--mmap": _LOAD_MODE,
    "--no-mmap": _LOAD_MODE,
    "--mlock": _LOAD_MODE,
    "--direct-io": _LOAD_MODE,
    "-dio": _LOAD_MODE,
    "--tools": _SHELL,
    "--agent": _SHELL,
    "--sleep-idle-seconds": "is refused: CVE-2026-43631, memory is used after it was freed",
    "--rpc": "is refused: llama.cpp's RPC has no protection against what the other side sends",
    "--models-dir": _ROUTER,
    "--models-preset": _ROUTER,
    "--models-max": _ROUTER,
    "--models-autoload": _ROUTER,
    "--log-disable": "is refused: deployer reads the engine's log to explain failures",
    "--log-file": "is refused: deployer keeps the engine's log itself, see `deployer logs`",
    "--help": _ENDS,
    "-h": _ENDS,
    "--usage": _ENDS,
    "--version": _ENDS,
    "--list-devices": _ENDS,
    "--completion-bash": _ENDS,
    "--cache-list": _ENDS,
}
_REFUSED_PREFIXES: dict[str, str] = {
    "--api-key": _API_KEY,
    "--ssl-": "is refused: the server speaks plain HTTP on a protected address; use expose: tunnel for encryption",
    "--mcp": _SHELL,
    "--ui-mcp": _SHELL,
    "--webui-mcp": _SHELL,
}
_OWNER = {flag: key for key, flags in _OWNED.items() for flag in flags}


def refusals(arguments: Sequence[object]) -> list[tuple[int, str]]:
    """(index, why) for every argument that may not be there. Entries that are no text are left to the type check."""
    found: list[tuple[int, str]] = []
    for index, argument in enumerate(arguments):
        why = _refusal(argument) if isinstance(argument, str) and argument.startswith("-") else None
        if why:
            found.append((index, why))
    return found


def _refusal(argument: str) -> str | None:
    words = argument.split()
    flag = words[0].split("=", 1)[0] if words else argument
    # llama.cpp takes `--ctx_size` for `--ctx-size`.
    name = flag.replace("_", "-") if flag.startswith("--") else flag
    shown = f"`{show(flag)}`"
    owner = _OWNER.get(name) or _by_prefix(_OWNED_PREFIXES, name)
    if owner:
        return f"{shown} is set by deployer; use {owner}"
    why = _REFUSED.get(name) or _by_prefix(_REFUSED_PREFIXES, name)
    if why:
        return f"{shown} {why}"
    if len(words) > 1:
        return f'one word an entry: ["{show(words[0])}", "{show(words[1])}"]'
    if "=" in argument:
        return f'llama-server takes no `=`; write ["{show(flag)}", "{show(argument.partition("=")[2])}"]'
    return None


def _by_prefix(table: dict[str, str], name: str) -> str | None:
    return next((value for prefix, value in table.items() if name.startswith(prefix)), None)
