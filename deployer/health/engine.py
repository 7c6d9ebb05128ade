"""Rung 4: /health says ok."""

from __future__ import annotations

from deployer.health.base import Observation
from deployer.health.client import Answered, EngineClient, Loading, Odd, Refused, TimedOut, Unauthorized


class EngineHealth:
    """200 passes; 503 is a model that still loads; a refusal after the port had answered is an engine restarting."""

    name = "health"
    deadline_seconds = 300.0
    decides = True

    def __init__(self, client: EngineClient) -> None:
        self._client = client

    def check(self) -> Observation:
        match self._client.health():
            case Answered():
                return Observation("passed", "/health answered 200")
            case Loading(text):
                return Observation("waiting", text)
            case Refused(text):
                return Observation("waiting", f"the port had answered and is closed now: {text}")
            case Unauthorized(text):
                return Observation("failed", f"{text} (llama-server asks no key for /health: another program answers)")
            case TimedOut(text) | Odd(_, text):
                return Observation("waiting", text)
