"""The agent's programs in SSM parameters: one for each version that an instance of the stack was launched with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from deployer.aws import parameters
from deployer.aws.names import Names
from deployer.aws.session import Aws
from deployer.aws.tags import TagSet, is_ours
from deployer.errors import RefusedError

#: What DeleteParameters takes at once.
_BATCH = 10


@dataclass(frozen=True)
class AgentProgram:
    """One version. name: the path of its parts, which ends in its mark. parts: parameter name -> value."""

    name: str
    ours: bool
    parts: Mapping[str, str] = field(default_factory=dict)

    @property
    def mark(self) -> str:
        """Which version it is; an instance carries the same mark as a tag."""
        return self.name.rpartition("/")[2]


def observe(aws: Aws, names: Names) -> list[AgentProgram]:
    """Every version below our path, ours or not, complete or not."""
    found: dict[str, dict[str, str]] = {}
    for parameter in parameters.below(aws, names.programs, recursive=True):
        found.setdefault(parameter.name.rpartition("/")[0], {})[parameter.name] = parameter.value
    return [
        # The parts are stored together, so the first one tells for all.
        AgentProgram(name, is_ours(parameters.tags_of(aws, min(parts)) or {}, names.stack), parts)
        for name, parts in sorted(found.items())
    ]


def create(aws: Aws, names: Names, tags: TagSet, wanted: Mapping[str, str], here: Mapping[str, str]) -> None:
    """Store the parts that are missing or damaged. here: what was seen of them, ours.

    Raises RefusedError when a name is taken by something that is not ours.
    """
    for name, value in wanted.items():
        if here.get(name) == value:
            continue
        if name not in here and parameters.create(aws, name, value, tag=tags.as_dict()):
            continue
        if name not in here and not is_ours(parameters.tags_of(aws, name) or {}, names.stack):
            raise RefusedError(f"parameter {name} exists and is not ours", hint="choose another stack name")
        parameters.overwrite(aws, name, value)


def delete(aws: Aws, parts: Iterable[str]) -> None:
    """Delete parameters; those that are gone already do no harm."""
    wanted = sorted(parts)
    for first in range(0, len(wanted), _BATCH):
        aws.call("ssm", "DeleteParameters", Names=wanted[first : first + _BATCH])
