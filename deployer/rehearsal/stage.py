"""Everything a rehearsal needs and nothing that outlives it: a temporary directory, a sandbox in it, an environment."""

from __future__ import annotations

import json
import os
import socket
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deployer.rehearsal import leftovers, sandbox
from deployer.rehearsal.leftovers import Claim
from deployer.rehearsal.product import Product, environment
from deployer.rehearsal.sandbox import SandboxInfo


@dataclass(frozen=True)
class Stage:
    """claim: the directory that holds all of it. product runs commands in it. target: the spec's."""

    claim: Claim
    info: SandboxInfo
    product: Product
    substitutions: tuple[str, ...]

    @property
    def directory(self) -> Path:
        """Where all of it is."""
        return self.claim.directory

    def ask(self, path: str) -> Any:
        """GET of the sandbox's control interface, as JSON."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.info.url}/_sandbox/{path}", timeout=30) as answer:
            return json.load(answer)

    def strike(self, *, keep: bool) -> None:
        """Stop the sandbox with every machine, and remove the directory unless it is kept."""
        sandbox.stop(self.info.state_dir)
        self.claim.release(keep=keep)


def build(*, target: str, machines: str, own_environ: Mapping[str, str]) -> Stage:
    """Start a private sandbox. target: `ec2` or `local`, which decides what the product must be told.

    What rehearsals that were killed have left is taken away first.
    """
    leftovers.sweep(own_environ)
    claim = Claim()
    directory = claim.directory
    try:
        info = sandbox.start(directory / leftovers.SANDBOX, machines=machines, parent_pid=os.getpid())
        given = dict(info.env)
        substitutions = list(info.substitutions)
        if target == "local":
            given |= _local_settings(directory)
            substitutions = ["the weights are a synthetic model of a few MB; this machine itself is real"]
        product = Product(environment(own_environ, given), Path.cwd())
    except BaseException:
        sandbox.stop(directory / leftovers.SANDBOX)
        claim.release(keep=False)
        raise
    return Stage(claim, info, product, tuple(substitutions))


def _local_settings(directory: Path) -> dict[str, str]:
    """A local stack has no SSH to redirect; it needs its model, and a port that nobody else has."""
    from deployer.rehearsal import tiny_model

    models = directory / "models"
    models.mkdir()
    tiny_model.write(models / "tiny-qwen35-mtp.gguf")
    return {"DEPLOYER_MODELS": str(models), "DEPLOYER_SET": f"endpoint.port={_free_port()}"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
