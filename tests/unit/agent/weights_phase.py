"""The weights phase alone, in this process, and the bytes that it is to fetch."""

from __future__ import annotations

import hashlib
import os
from typing import Any

from deployer.agent import weights
from deployer.agent.config import Config
from deployer.agent.console import Console, Phase
from deployer.agent.protocol import AgentFailure, decode_line
from deployer.agent.stop import Stop
from tests.unit.agent.box import Box

BODY = b"GGUF" + os.urandom(400_000)
SHA = hashlib.sha256(BODY).hexdigest()
OTHER = b"GGUF" + os.urandom(400_000)


class Run:
    """The weights phase alone, in this process, on a box's configuration."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.failure: AgentFailure | None = None

    def __call__(self) -> dict[str, Any]:
        """The phase's last line."""
        config = Config(self.box.config, {"DEPLOYER_AGENT_ROOT": str(self.box.root)})
        console = Console(config.console)
        try:
            with Phase(console, "weights") as phase:
                weights.obtain(config, phase, Stop())
        except AgentFailure as failure:
            self.failure = failure
        last = decode_line(self.box.console().splitlines()[-1])
        assert last is not None
        return last

    def failed(self) -> dict[str, Any]:
        line = self()
        assert line["state"] == "failed"
        assert not self.box.weights.exists()
        return line

    def done(self) -> dict[str, Any]:
        line = self()
        assert line["state"] == "done", line
        assert self.box.weights.read_bytes() == BODY
        assert line["detail"]["sha256"] == SHA
        left = {path.name for path in self.box.weights.parent.iterdir()}
        assert left == {"m.gguf", "m.gguf.json"}
        return line
