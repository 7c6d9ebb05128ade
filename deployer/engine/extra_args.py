"""Checks of `engine.extra_args`: known to the build, not ours, not dangerous."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from deployer.engine.dialect import Dialect, Flag, Problem, Use, parse

#: First name of a flag that the spec decides -> where in the spec.
OWNED = MappingProxyType(
    {
        "--host": "endpoint.expose",
        "--port": "endpoint.port",
        "--model": "model",
        "--alias": "model.alias",
        "--ctx-size": "engine.context",
        "--parallel": "engine.parallel",
        "--threads": "engine.threads",
        "--cache-type-k": "engine.cache_type_k",
        "--cache-type-v": "engine.cache_type_v",
        "--flash-attn": "engine.flash_attention",
        "--spec-type": "engine.mtp",
        "--spec-draft-n-max": "engine.mtp.draft_n_max",
        "--spec-draft-p-min": "engine.mtp.draft_p_min",
    }
)

#: Flags that are never accepted -> why. The list follows llama.cpp's SECURITY.md and the CVEs of 2026.
FORBIDDEN = MappingProxyType(
    {
        "--api-key": "a key in an argument list is readable by every process; deployer keeps it in a file",
        "--api-key-file": "deployer makes the key and its file",
        "--model-url": "weights are downloaded and verified by the agent; set model.source",
        "--hf-repo": "weights are downloaded and verified by the agent; set model.source",
        "--docker-repo": "weights are downloaded and verified by the agent; set model.source",
        "--tools": "it lets clients run commands on the instance",
        "--agent": "it lets clients run commands on the instance",
        "--ui-mcp-proxy": "it opens a proxy to everything the instance reaches",
        "--mcp-servers-config": "it starts programs on the instance",
        "--mcp-servers-json": "it starts programs on the instance",
        "--media-path": "it serves files of the instance",
        "--rpc": "llama.cpp's RPC is not meant for networks (CVE-2024-42477 and later)",
        "--sleep-idle-seconds": "it races with requests (CVE-2026-43631)",
        "--models-dir": "router mode answers /health without a model",
        "--models-preset": "router mode answers /health without a model",
        "--help": "the server would end at once",
        "--version": "the server would end at once",
        "--cache-list": "the server would end at once",
        "--list-devices": "the server would end at once",
        "--completion-bash": "the server would end at once",
        "--embedding": "the stack's readiness is a chat completion",
        "--reranking": "the stack's readiness is a chat completion",
    }
)


def check_extra_args(args: Sequence[str], dialect: Dialect, *, mtp: bool = False) -> list[Problem]:
    """Everything wrong with the user's own arguments, in order; empty when llama.cpp will take them beside ours."""
    uses, problems = parse(args, dialect)
    owned = _by_flag(OWNED, dialect)
    forbidden = _by_flag(FORBIDDEN, dialect)
    for use in uses:
        if use.flag in owned:
            problems.append(Problem(use.index, f"{use.name} is set by deployer", f"set {owned[use.flag]} instead"))
        elif use.flag in forbidden:
            problems.append(Problem(use.index, f"{use.name} is not accepted", forbidden[use.flag]))
        elif mtp and _breaks_mtp(use):
            problems.append(
                Problem(
                    use.index, f"{use.name} {' '.join(use.values)} crashes with MTP", "use layer or set engine.mtp: off"
                )
            )
    return sorted(problems, key=lambda problem: problem.index)


def names_used(args: Sequence[str], dialect: Dialect) -> frozenset[str]:
    """Every name of every flag in `args`, so that a default of ours can step back for the user's."""
    uses, _ = parse(args, dialect)
    return frozenset(name for use in uses for name in use.flag.names)


def _by_flag(table: MappingProxyType[str, str], dialect: Dialect) -> dict[Flag, str]:
    return {dialect.flags[name]: text for name, text in table.items() if name in dialect.flags}


def _breaks_mtp(use: Use) -> bool:
    return "--split-mode" in use.flag.names and use.values == ("tensor",)
