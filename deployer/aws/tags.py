"""Tags: how we mark what is ours, and how we recognise it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

STACK = "deployer:stack"
GENERATION = "deployer:generation"
SPEC_DIGEST = "deployer:spec-digest"
#: What the instance was launched with, and which RunInstances call made it.
LAUNCH_DIGEST = "deployer:launch-digest"
LAUNCH = "deployer:launch"
#: The mark of the agent's program that the instance fetches.
PROGRAM = "deployer:program"
EXPIRES_AT = "deployer:expires-at"
_TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class TagSet:
    """The tags of one stack. user: the spec's own tags; ours win over them. expires_at: seconds since the epoch."""

    stack: str
    generation: int
    spec_digest: str
    expires_at: float | None = None
    user: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self, **more: str) -> dict[str, str]:
        """Key -> value."""
        tags = {**self.user, **more, STACK: self.stack, GENERATION: str(self.generation), SPEC_DIGEST: self.spec_digest}
        if self.expires_at is not None:
            tags[EXPIRES_AT] = datetime.fromtimestamp(self.expires_at, UTC).strftime(_TIME)
        return tags


def generation_of(tags: Mapping[str, str]) -> int:
    """The generation, 0 without the tag or when somebody broke it."""
    text = tags.get(GENERATION, "")
    return int(text) if text.isdecimal() else 0


def changeable(user: Mapping[str, str]) -> dict[str, str]:
    """The user's tags without those that are ours on the instance, whatever the spec says."""
    return {key: value for key, value in user.items() if key != "Name" and not key.startswith("deployer:")}


def expires_at(tags: Mapping[str, str]) -> float | None:
    """Seconds since the epoch; None without the tag, or when somebody broke it."""
    try:
        return datetime.strptime(tags.get(EXPIRES_AT, ""), _TIME).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def to_aws(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """The list of Key and Value that EC2, SSM and IAM take."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def from_aws(tags: Iterable[Mapping[str, Any]] | None) -> dict[str, str]:
    """Key -> value from an answer's `Tags` or `TagList`, which is left out when empty."""
    return {str(tag["Key"]): str(tag["Value"]) for tag in tags or ()}


def specification(resource_type: str, tags: Mapping[str, str]) -> dict[str, Any]:
    """One entry of EC2's TagSpecifications."""
    return {"ResourceType": resource_type, "Tags": to_aws(tags)}


def is_ours(tags: Mapping[str, str], stack: str) -> bool:
    """Whether a resource with these tags belongs to the stack. A name alone never makes it ours."""
    return tags.get(STACK) == stack


def stack_filter(stack: str) -> list[dict[str, Any]]:
    """EC2 Filters that find what carries the stack's tag."""
    return [{"Name": f"tag:{STACK}", "Values": [stack]}]
