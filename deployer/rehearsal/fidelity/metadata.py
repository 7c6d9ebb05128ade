"""What a launched instance finds under /latest/meta-data."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from deployer.clock import Clock

#: How long the role credentials handed to an instance are said to be valid.
CREDENTIALS_HOURS = 6
#: The access key of an instance's role starts with this, so that calls show who made them.
ROLE_KEY_PREFIX = "ASIA"


def role_access_key(instance_id: str) -> str:
    """The access key id an instance signs with: `ASIA` and sixteen characters made of its id."""
    return ROLE_KEY_PREFIX + instance_id.removeprefix("i-").upper()[:16].ljust(16, "X")


def metadata(
    instance: Any, *, region: str, suffix: str, partition: str, public_key: str | None, role: str | None, clock: Clock
) -> dict[str, str]:
    """IMDS paths -> text for moto's instance. public_key: OpenSSH format. role: the profile's role name."""
    found: dict[str, str] = {
        "instance-id": instance.id,
        "instance-type": instance.instance_type,
        "instance-life-cycle": instance.lifecycle or "on-demand",
        "ami-id": instance.image_id,
        "placement/region": region,
        "placement/availability-zone": str(instance.availability_zone),
        "local-ipv4": str(instance.private_ip),
        "local-hostname": instance.private_dns_name,
        "hostname": instance.private_dns_name,
        "services/domain": suffix,
        "services/partition": partition,
        "security-groups": "\n".join(group.name for group in instance.security_groups),
    }
    if instance.public_ip:
        found["public-ipv4"] = instance.public_ip
        found["public-hostname"] = f"ec2-{instance.public_ip.replace('.', '-')}.{region}.compute.{suffix}"
    if public_key:
        found["public-keys/0/openssh-key"] = public_key
    if role:
        found[f"iam/security-credentials/{role}"] = _credentials(instance.id, clock)
    return found


def _credentials(instance_id: str, clock: Clock) -> str:
    now = datetime.fromtimestamp(clock.now(), UTC)
    stamp = "%Y-%m-%dT%H:%M:%SZ"
    return json.dumps(
        {
            "Code": "Success",
            "LastUpdated": now.strftime(stamp),
            "Type": "AWS-HMAC",
            "AccessKeyId": role_access_key(instance_id),
            "SecretAccessKey": "rehearsal" * 4,
            "Token": "rehearsal-session-token",
            "Expiration": (now + timedelta(hours=CREDENTIALS_HOURS)).strftime(stamp),
        }
    )
