"""SSM parameters: atomic create, overwrite, read, delete, list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from deployer.aws import tags
from deployer.aws.session import Aws


@dataclass(frozen=True)
class Parameter:
    """One parameter as read; value is clear text."""

    name: str
    value: str


def create(
    aws: Aws,
    name: str,
    value: str,
    *,
    tag: Mapping[str, str],
    kind: Literal["String", "SecureString"] = "String",
) -> bool:
    """Create atomically. False when a parameter of this name exists already."""
    answer = aws.call_unless(
        "exists", "ssm", "PutParameter", Name=name, Value=value, Type=kind, Overwrite=False, Tags=tags.to_aws(tag)
    )
    return answer is not None


def overwrite(aws: Aws, name: str, value: str) -> None:
    """Replace the value of a String."""
    aws.call("ssm", "PutParameter", Name=name, Value=value, Type="String", Overwrite=True)


def read(aws: Aws, name: str, *, decrypt: bool = False) -> Parameter | None:
    """The parameter, or None when there is none."""
    answer = aws.call_unless("not_found", "ssm", "GetParameter", Name=name, WithDecryption=decrypt)
    return None if answer is None else Parameter(name, str(answer["Parameter"]["Value"]))


def tags_of(aws: Aws, name: str) -> dict[str, str] | None:
    """The parameter's tags, or None when there is no such parameter."""
    answer = aws.call_unless("not_found", "ssm", "ListTagsForResource", ResourceType="Parameter", ResourceId=name)
    return None if answer is None else tags.from_aws(answer.get("TagList"))


def delete(aws: Aws, name: str) -> bool:
    """Delete; False when it was gone already."""
    return aws.call_unless("not_found", "ssm", "DeleteParameter", Name=name) is not None


def below(aws: Aws, path: str, *, recursive: bool = False) -> Iterator[Parameter]:
    """Every parameter directly below a path, or anywhere below it, in pages of ten (SSM's maximum)."""
    for item in aws.pages("ssm", "GetParametersByPath", "Parameters", Path=path, Recursive=recursive, MaxResults=10):
        yield Parameter(str(item["Name"]), str(item["Value"]))
