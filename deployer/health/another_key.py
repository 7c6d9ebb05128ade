"""What a rung sees when the engine does not take the stack's API key."""

from __future__ import annotations

from deployer.errors import NotHealthyError
from deployer.health.base import Observation


def another_key(text: str) -> Observation:
    """A key rotation that did not reach the engine leaves this. text: the engine's answer."""
    message = f"{text}: the server has another API key than this stack"
    error = NotHealthyError(message, where="API key", hint="`deployer key rotate` gives the engine and you a new one")
    return Observation("failed", message, error)
