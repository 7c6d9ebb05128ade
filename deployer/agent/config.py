"""/etc/deployer/agent.json as values, with every path below DEPLOYER_AGENT_ROOT."""

from __future__ import annotations

import json
from typing import Any, Mapping, NamedTuple

from .protocol import PROTOCOL_VERSION


class Source(NamedTuple):
    """One place to take the weights from. kind: modelscope, s3, https or file. listing_url: a hub API or None."""

    kind: str
    url: str
    listing_url: str | None
    listing_path: str | None


class Weights(NamedTuple):
    """sha256 and size_bytes are None when nothing is pinned. part of the name: `file` below `dir`."""

    dir: str
    file: str
    sha256: str | None
    size_bytes: int | None
    sources: tuple[Source, ...]


class Engine(NamedTuple):
    """command + argv is what is run; host and port are where it will answer."""

    command: tuple[str, ...]
    argv: tuple[str, ...]
    image: str | None
    alias: str
    host: str
    port: int
    expects_gpu: bool
    mtp: bool


class Config(NamedTuple):
    """Everything the agent was told. load_s, ready_s, key_s: deadlines. retry_s: the first pause between tries."""

    root: str
    runtime: str
    region: str
    ssm_endpoint: str | None
    key_parameter: str | None
    key_file: str
    engine: Engine
    weights: Weights
    engine_log: str
    console: str
    state: str
    load_s: float
    ready_s: float
    key_s: float
    retry_s: float


def load(path: str, environ: Mapping[str, str]) -> Config:
    """Read the file `path` (already below the root). Raises ValueError, KeyError, TypeError or OSError."""
    with open(path, encoding="utf-8") as stream:
        body: dict[str, Any] = json.load(stream)
    if body["v"] != PROTOCOL_VERSION:
        raise ValueError("%s is of version %s, this agent reads %s" % (path, body["v"], PROTOCOL_VERSION))
    root = environ.get("DEPLOYER_AGENT_ROOT", "").rstrip("/")
    bind = environ.get("DEPLOYER_AGENT_BIND")
    engine, weights, key, paths = body["engine"], body["weights"], body["api_key"], body["paths"]
    deadlines = body.get("deadlines", {})
    ours = (weights["dir"], key["file"], paths["state"])
    argv = [_below(root, ours, argument) for argument in engine["argv"]]
    if bind and "--host" in argv[:-1]:
        argv[argv.index("--host") + 1] = bind
    return Config(
        root=root,
        runtime=body["runtime"],
        region=body.get("region") or "",
        ssm_endpoint=body.get("ssm_endpoint"),
        key_parameter=key.get("parameter"),
        key_file=root + key["file"],
        engine=Engine(
            tuple(engine["command"]),
            tuple(argv),
            engine.get("image"),
            engine["alias"],
            bind or engine["host"],
            int(engine["port"]),
            bool(engine.get("expects_gpu")),
            bool(engine.get("mtp")),
        ),
        weights=Weights(
            root + weights["dir"],
            weights["file"],
            weights.get("sha256"),
            weights.get("size_bytes"),
            tuple(
                Source(one["kind"], one["url"], one.get("listing_url"), one.get("listing_path"))
                for one in weights["sources"]
            ),
        ),
        engine_log=root + paths["engine_log"],
        console=root + paths["console"],
        state=root + paths["state"],
        load_s=float(deadlines.get("engine_load_s", 1800)),
        ready_s=float(deadlines.get("ready_s", 300)),
        key_s=float(deadlines.get("api_key_s", 90)),
        retry_s=float(deadlines.get("retry_s", 0.5)),
    )


def _below(root: str, ours: tuple[str, ...], argument: str) -> str:
    """An argument that names one of our paths, moved below the root."""
    inside = any(argument == path or argument.startswith(path + "/") for path in ours)
    return root + argument if inside else argument
