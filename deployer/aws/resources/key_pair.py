"""The EC2 key pair: the public half of an ed25519 key whose private half never leaves the operator's machine."""

from __future__ import annotations

from dataclasses import dataclass

from deployer.aws.names import Names
from deployer.aws.session import Aws
from deployer.aws.tags import TagSet, from_aws, is_ours, specification


@dataclass(frozen=True)
class KeyPair:
    """public_key: `type base64` without comment, None when AWS does not tell."""

    id: str
    name: str
    ours: bool
    public_key: str | None


def observe(aws: Aws, names: Names) -> KeyPair | None:
    """The key pair under our name, ours or not."""
    filters = [{"Name": "key-name", "Values": [names.key_pair]}]
    found = aws.call("ec2", "DescribeKeyPairs", Filters=filters, IncludePublicKey=True)["KeyPairs"]
    if not found:
        return None
    pair = found[0]
    public = bare(str(pair["PublicKey"])) if pair.get("PublicKey") else None
    ours = is_ours(from_aws(pair.get("Tags")), names.stack)
    return KeyPair(str(pair.get("KeyPairId", names.key_pair)), names.key_pair, ours, public)


def create(aws: Aws, names: Names, tags: TagSet, public_key: str) -> str | None:
    """Import the public key and return the pair's id, or None when a pair of this name exists."""
    answer = aws.call_unless(
        "exists",
        "ec2",
        "ImportKeyPair",
        KeyName=names.key_pair,
        PublicKeyMaterial=public_key.encode("ascii"),
        TagSpecifications=[specification("key-pair", tags.as_dict())],
    )
    return None if answer is None else str(answer.get("KeyPairId", names.key_pair))


def delete(aws: Aws, names: Names) -> bool:
    """Delete it; AWS answers the same whether it was there or not."""
    return aws.call_unless("not_found", "ec2", "DeleteKeyPair", KeyName=names.key_pair) is not None


def bare(public_key: str) -> str:
    """`ssh-ed25519 AAAA... comment` -> `ssh-ed25519 AAAA...`, so that keys compare."""
    return " ".join(public_key.split()[:2])
