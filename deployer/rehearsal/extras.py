"""What a rehearsal puts in the place of the real thing besides AWS: the weights, served from this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from platformdirs import user_cache_path


@dataclass(frozen=True)
class Extras:
    """env: how a client is pointed at it. substitutions: one sentence each, for people. close ends it."""

    env: dict[str, str]
    substitutions: list[str]
    close: Callable[[], None]


def start() -> Extras:
    """Start the weight server; synthetic models are kept in the user's cache directory between runs."""
    from deployer.rehearsal.weights import WeightServer

    try:
        from deployer.rehearsal.substitutions import substitutions

        told = substitutions()
    except ImportError:
        told = ["weights: a synthetic model of the same architecture, served from this machine"]
    server = WeightServer(user_cache_path("deployer") / "rehearsal").start()
    return Extras({"DEPLOYER_MIRROR_MODELSCOPE": server.url}, told, server.close)
