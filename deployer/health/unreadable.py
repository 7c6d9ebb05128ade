"""What a rung sees when AWS does not answer its question: a passing trouble is waited out, a refusal ends the climb."""

from __future__ import annotations

from deployer.aws import errors
from deployer.errors import AwsError, NotHealthyError
from deployer.health.base import Observation

#: Waiting does not change these.
_FINAL = frozenset({"permission", "credentials"})


def unreadable(what: str, error: AwsError) -> Observation:
    """`what` could not be read. Fails at once when the caller may not ask, and names the action."""
    text = f"{what} cannot be read: {error.message}"
    if errors.meaning(error.aws_code) in _FINAL:
        return Observation("failed", text, NotHealthyError(text, where=error.operation, hint=error.hint))
    return Observation("waiting", text, error)
