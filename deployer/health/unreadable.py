"""What a rung sees when AWS does not answer its question: a passing trouble is waited out, a refusal ends the climb."""

from __future__ import annotations

from deployer.aws import errors
from deployer.errors import AwsError, RefusedError
from deployer.health.base import Observation


def unreadable(what: str, error: AwsError) -> Observation:
    """`what` could not be read. Fails at once, by a RefusedError that names the action, when AWS refuses for good."""
    shown = errors.for_person(error)
    if isinstance(shown, RefusedError):
        shown.message = f"{what} cannot be read: {shown.message}"
        return Observation("failed", shown.message, shown)
    return Observation("waiting", f"{what} cannot be read: {error.message}", error)
