"""How everything of one stack is named in AWS."""

from __future__ import annotations

from dataclasses import dataclass

RECORDS_PATH = "/deployer/stacks"
LEASES_PATH = "/deployer/leases"
KEYS_PATH = "/deployer/keys"
PROGRAMS_PATH = "/deployer/agents"


@dataclass(frozen=True)
class Names:
    """Deterministic names. IAM is global in a partition, so its names carry the region."""

    stack: str
    region: str

    @property
    def record(self) -> str:
        """The SSM parameter of the stack record."""
        return f"{RECORDS_PATH}/{self.stack}"

    @property
    def leases(self) -> str:
        """The SSM path below which the numbered lease parameters lie."""
        return f"{LEASES_PATH}/{self.stack}"

    @property
    def api_key(self) -> str:
        """The SSM SecureString of the API key."""
        return f"{KEYS_PATH}/{self.stack}"

    @property
    def programs(self) -> str:
        """The SSM path below which the agent's programs lie, each in numbered parts below its mark."""
        return f"{PROGRAMS_PATH}/{self.stack}"

    @property
    def security_group(self) -> str:
        """The security group's GroupName."""
        return f"deployer-{self.stack}-security-group"

    @property
    def key_pair(self) -> str:
        """The EC2 key pair's name."""
        return f"deployer-{self.stack}-key-pair"

    @property
    def role(self) -> str:
        """The IAM role's name, at most 64 characters."""
        return f"deployer-{self.stack}-role-{self.region}"

    @property
    def instance_profile(self) -> str:
        """The instance profile's name."""
        return f"deployer-{self.stack}-profile-{self.region}"

    @property
    def instance(self) -> str:
        """The instance's Name tag."""
        return f"deployer-{self.stack}-instance"
