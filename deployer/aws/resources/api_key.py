"""The API key: an SSM SecureString made here, read only by this stack's instance and its operators."""

from __future__ import annotations

from dataclasses import dataclass

from deployer.access.secrets import new_api_key
from deployer.aws import parameters
from deployer.aws.names import Names
from deployer.aws.session import Aws
from deployer.aws.tags import TagSet, generation_of, is_ours
from deployer.errors import RefusedError


@dataclass(frozen=True)
class ApiKey:
    """The parameter as AWS shows it, never its value. generation: of the instance it was made for, 0 when unknown."""

    name: str
    ours: bool
    generation: int = 0


def observe(aws: Aws, names: Names) -> ApiKey | None:
    """The parameter under our name, ours or not."""
    tags = parameters.tags_of(aws, names.api_key)
    return None if tags is None else ApiKey(names.api_key, is_ours(tags, names.stack), generation_of(tags))


def create(aws: Aws, names: Names, tags: TagSet) -> str:
    """Create it with a new random key; one that an earlier run created is kept. The name is the id."""
    made = parameters.create(aws, names.api_key, new_api_key(), tag=tags.as_dict(), kind="SecureString")
    if not made and not getattr(observe(aws, names), "ours", False):
        raise RefusedError(f"parameter {names.api_key} exists and is not ours", hint="choose another stack name")
    return names.api_key


def read(aws: Aws, names: Names) -> str:
    """The key itself. Raises RefusedError when there is none."""
    found = parameters.read(aws, names.api_key, decrypt=True)
    if found is None:
        raise RefusedError(f"there is no API key {names.api_key}", hint="run `deployer up` again")
    return found.value


def replace(aws: Aws, names: Names, key: str) -> None:
    """Overwrite it; its tags stay."""
    aws.call("ssm", "PutParameter", Name=names.api_key, Value=key, Type="SecureString", Overwrite=True)


def delete(aws: Aws, names: Names) -> bool:
    """Delete it; False when it was gone."""
    return parameters.delete(aws, names.api_key)
