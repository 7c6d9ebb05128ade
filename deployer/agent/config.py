"""/etc/deployer/agent.json as values, with every path below DEPLOYER_AGENT_ROOT."""

from __future__ import annotations

from typing import Any, Mapping

from .protocol import PROTOCOL_VERSION


class Source:
    """One place to take the weights from. kind: modelscope, s3, https or file. listing_url: a hub API or None."""

    def __init__(self, kind: str, url: str, listing_url: str | None = None, listing_path: str | None = None) -> None:
        self.kind = kind
        self.url = url
        self.listing_url = listing_url
        self.listing_path = listing_path


class Config:
    """Everything the agent was told. Names ending in _s are seconds; retry_s is the first pause between tries.

    sha256 and size are None when nothing is pinned. Raises KeyError, TypeError, ValueError on a body that is not ours.
    """

    def __init__(self, body: dict[str, Any], environ: Mapping[str, str]) -> None:
        if body["v"] != PROTOCOL_VERSION:
            raise ValueError("version %s, this agent reads %s" % (body["v"], PROTOCOL_VERSION))
        self.root = environ.get("DEPLOYER_AGENT_ROOT", "")
        engine, weights, key, paths = body["engine"], body["weights"], body["api_key"], body["paths"]
        deadlines = body.get("deadlines", {})
        self.docker: bool = body["runtime"] == "docker"
        self.region: str = body.get("region") or ""
        self.ssm_endpoint: str | None = body.get("ssm_endpoint")
        self.record: str | None = body.get("record")
        #: Without a request for so long the instance ends itself; 0: never.
        self.idle_s: float = body.get("idle_s") or 0.0
        #: How often to ask whether AWS takes the instance back; 0: never, it is not on spot.
        self.spot_poll_s: float = body.get("spot_poll_s") or 0.0
        self.key_parameter: str | None = key.get("parameter")
        self.key_file = self.root + key["file"]
        self.command: list[str] = engine["command"]
        self.image: str | None = engine.get("image")
        self.alias: str = engine["alias"]
        self.port = int(engine["port"])
        self.expects_gpu: bool = engine.get("expects_gpu")
        self.mtp: bool = engine.get("mtp")
        #: first_boot, drafts and threads: what a tuning may change; left out, everything.
        self.tune: dict[str, Any] = body.get("tune") or {}
        self.weights_dir = self.root + weights["dir"]
        self.weights_file = self.weights_dir + "/" + weights["file"]
        self.sha256: str | None = weights.get("sha256")
        self.size: int | None = weights.get("size_bytes")
        self.sources = [Source(**source) for source in weights["sources"]]
        self.engine_log = self.root + paths["engine_log"]
        self.console = self.root + paths["console"]
        self.state = self.root + paths["state"]
        self.pid_file = self.state + "/engine.json"
        self.load_s: float = deadlines.get("engine_load_s", 1800)
        self.ready_s: float = deadlines.get("ready_s", 300)
        self.key_s: float = deadlines.get("api_key_s", 90)
        self.driver_s: float = deadlines.get("driver_s", 60)
        self.network_s: float = deadlines.get("network_s", 120)
        self.connections: int = weights.get("connections", 8)
        self.piece: int = weights.get("piece_bytes", 1 << 24)
        self.retry_s: float = deadlines.get("retry_s", 0.5)
        bind = environ.get("DEPLOYER_AGENT_BIND")
        self.host: str = bind or engine["host"]
        tls = engine.get("tls") or {}
        self.tls_key: str | None = self.root + tls["key"] if tls else None
        self.tls_certificate: str | None = self.root + tls["certificate"] if tls else None
        ours = tuple(path + "/" for path in (weights["dir"], key["file"], paths["state"], *tls.values()))
        self.argv = [self.root + word if (word + "/").startswith(ours) else word for word in engine["argv"]]
        if bind and "--host" in self.argv:
            self.argv[self.argv.index("--host") + 1] = bind
