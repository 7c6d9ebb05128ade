"""Deployment -> agent.json: everything the agent needs to know, and no secret."""

from __future__ import annotations

from dataclasses import dataclass

from deployer.agent.protocol import PROTOCOL_VERSION
from deployer.agent.tuning import DRAFTS
from deployer.decide.types import BoxPaths, Deployment, WeightSource
from deployer.events import Json
from deployer.spec.models import Ec2Stack
from deployer.spec.network import tls_of
from deployer.spec.values import parse_duration_seconds

#: The program of the native runtime, found on the instance's PATH.
ENGINE_COMMAND = "llama-server"
#: A slow volume reads a model at this rate at worst (a gp3 root volume's 125 MiB/s, halved), bytes/s; the deadline of
#: the load follows from it.
_SLOW_READ = 62 * 2**20
_LOAD_FLOOR_SECONDS = 900
_READY_SECONDS = 300
#: How long a network that is not up yet is waited for: after boot names and routes may take a minute to come; on a
#: person's machine it is there or it is not.
_NETWORK_SECONDS = 120
#: AWS's own advice for looking for an interruption notice (EC2 user guide, "Spot Instance interruption notices").
SPOT_POLL_SECONDS = 5.0
_LOCAL_NETWORK_SECONDS = 5


@dataclass(frozen=True)
class LaunchFacts:
    """What only the launch knows. expires_at: seconds since the epoch. api_key_parameter: None = the file is there.

    programs_path: the SSM path below which the agent's program lies; None where it is not sent.
    record: the SSM parameter of the stack record, likewise. spot: AWS may take the instance back.
    """

    api_key_parameter: str | None
    generation: int
    expires_at: float | None
    ssm_endpoint: str | None
    programs_path: str | None = None
    record: str | None = None
    spot: bool = False


def agent_config(deployment: Deployment, facts: LaunchFacts) -> dict[str, Json]:
    """The document of agent.json; agent/config.py reads it."""
    spec, engine, weights, paths = deployment.spec, deployment.engine, deployment.weights, deployment.paths
    return {
        "v": PROTOCOL_VERSION,
        "stack": spec.name,
        "generation": facts.generation,
        "region": spec.region if isinstance(spec, Ec2Stack) else None,
        "ssm_endpoint": facts.ssm_endpoint,
        "runtime": engine.runtime,
        "engine": {
            "command": [ENGINE_COMMAND],
            "argv": [*engine.argv],
            "image": engine.image,
            "alias": engine.alias,
            "host": engine.host,
            "port": engine.port,
            "build": engine.build.name,
            "expects_gpu": deployment.hardware.gpu is not None and engine.build.name == "cuda",
            "mtp": engine.mtp.enabled,
            **(_tls(paths) if tls_of(spec.endpoint) else {}),
        },
        # Only what is not the agent's own default, so that an instance is not another for a key that says nothing.
        **({"tune": tune} if (tune := _tune(deployment)) else {}),
        "api_key": {"parameter": facts.api_key_parameter, "file": paths.api_key_file},
        "weights": {
            "dir": paths.weights_dir,
            "file": weights.file,
            "sha256": weights.sha256,
            "size_bytes": weights.size_bytes if weights.size_exact else None,
            "sources": [_source(source) for source in weights.sources],
        },
        "paths": {"engine_log": paths.engine_log, "console": paths.console, "state": paths.state_dir},
        **({"idle_s": idle} if (idle := idle_seconds(deployment)) else {}),
        "deadlines": {
            "engine_load_s": max(_LOAD_FLOOR_SECONDS, 2 * weights.size_bytes // _SLOW_READ),
            "ready_s": _READY_SECONDS,
            "network_s": _NETWORK_SECONDS if isinstance(spec, Ec2Stack) else _LOCAL_NETWORK_SECONDS,
        },
    }


def idle_seconds(deployment: Deployment) -> float | None:
    """Without a request for so long the instance ends itself; None: never."""
    idle = deployment.spec.lifetime.idle if isinstance(deployment.spec, Ec2Stack) else None
    return None if idle is None else float(parse_duration_seconds(idle))


def _tune(deployment: Deployment) -> dict[str, Json]:
    """What a tuning on the machine may change; the spec's own settings stand before every measurement."""
    spec = deployment.spec.engine
    limits: dict[str, Json] = {"first_boot": True} if spec.tune == "on-first-boot" else {}
    mtp = spec.mtp
    drafting = [mtp.draft_n_max] if mtp.draft_n_max else [*DRAFTS[1:]]
    if mtp.mode == "off" or deployment.weights.mtp_head is False:
        limits["drafts"] = [0]
    elif mtp.mode == "on":
        limits["drafts"] = [*drafting]
    elif mtp.draft_n_max:
        limits["drafts"] = [0, *drafting]
    if spec.threads != "auto":
        limits["threads"] = False
    if mtp.draft_p_min is not None:
        limits["p_min"] = mtp.draft_p_min
    return limits


def _tls(paths: BoxPaths) -> dict[str, Json]:
    return {"tls": {"key": paths.tls_key_file, "certificate": paths.tls_certificate_file}}


def _source(source: WeightSource) -> dict[str, Json]:
    return {
        "kind": source.kind,
        "url": source.url,
        "listing_url": source.listing_url,
        "listing_path": source.listing_path,
    }
