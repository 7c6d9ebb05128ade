"""The stack record: the one thing `up` writes before anything that costs money, and `down` deletes last.

An SSM parameter below 4 KB of JSON. It never holds a secret.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from deployer.aws import parameters
from deployer.aws.names import RECORDS_PATH, Names
from deployer.aws.session import Aws
from deployer.aws.tags import TagSet
from deployer.errors import RefusedError

VERSION = 1
#: SSM's limit for a standard parameter.
LIMIT_BYTES = 4096


@dataclass(frozen=True)
class Intent:
    """A RunInstances call that is about to be made, or whose outcome nobody wrote down. at: seconds since the epoch."""

    token: str
    generation: int
    attempt: int
    instance_type: str
    zone: str
    at: float
    market: str = "on-demand"


@dataclass(frozen=True)
class EndpointFacts:
    """What a client of the endpoint must know. model: as a person calls it."""

    alias: str = ""
    port: int = 0
    expose: str = "tunnel"
    model: str = ""
    instance_type: str = ""
    tls: bool = False


@dataclass(frozen=True)
class AccessFacts:
    """How to log in. key: the user's own private key file, None for the one we made. bastion: as in the spec."""

    user: str = ""
    port: int = 22
    key: str | None = None
    bastion: str | None = None


@dataclass(frozen=True)
class Record:
    """phase: creating, launching, booting, ready, failed, no-capacity or deleting.

    uid: random, made once: the stack's identity behind its name. attempt: the last launch attempt that was begun,
    counted over the stack's whole life. ids: kind -> AWS id. Times are seconds since the epoch.
    ttl, idle: as the spec said when the instance was launched. tag_keys: the user's tags that may be on what exists.
    keep_until: before that the instance does not end itself because nobody asks anything.
    unsure: kinds of which an `up` that did not end well has begun to make one, so that it may show late.
    tuned: a MeasuredChoice, what the instance in use runs with instead of what was decided beforehand.
    unsettled_at: when an `up` that did not end well last wrote this: what it made may not show yet. 0 once ready.
    """

    stack: str
    region: str
    uid: str
    generation: int
    attempt: int
    spec_digest: str
    launch_digest: str
    phase: str
    created_at: float
    expires_at: float | None
    launched_at: float = 0.0
    ttl: str | None = None
    idle: str | None = None
    keep_until: float = 0.0
    tag_keys: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()
    unsettled_at: float = 0.0
    ids: Mapping[str, str] = field(default_factory=dict)
    intent: Intent | None = None
    endpoint: EndpointFacts = EndpointFacts()
    access: AccessFacts = AccessFacts()
    holder: str = ""
    tuned: Mapping[str, Any] | None = None

    def with_id(self, kind: str, value: str) -> Record:
        """The same with one more id."""
        return replace(self, ids={**self.ids, kind: value})

    def stamped(self, now: float) -> Record:
        """The same, with unsettled_at and unsure as the phase demands; `deleting` keeps what a cut `up` left."""
        match self.phase:
            case "deleting":
                return self
            case "ready":
                return replace(self, unsettled_at=0.0, unsure=())
            case _:
                return replace(self, unsettled_at=now)

    def to_json(self) -> str:
        """The parameter's value. Raises RefusedError when it would not fit."""
        text = json.dumps({"v": VERSION, **asdict(self)}, separators=(",", ":"), sort_keys=True)
        if len(text.encode()) > LIMIT_BYTES:
            raise RefusedError(
                "the stack record would be larger than 4 KB",
                hint="shorten access.key or model.alias, or give fewer tags",
            )
        return text


def new_uid() -> str:
    """A stack's random identity."""
    return secrets.token_hex(8)


def parse(stack: str, text: str) -> Record:
    """Read a record. Raises RefusedError for one that another version wrote or that somebody broke."""
    try:
        body: dict[str, Any] = json.loads(text)
        if body.pop("v") != VERSION:
            raise ValueError("another version")
        intent = body.pop("intent", None)
        return Record(
            **{
                **body,
                "tag_keys": tuple(body.get("tag_keys", ())),
                "unsure": tuple(body.get("unsure", ())),
                "intent": Intent(**intent) if intent else None,
                "endpoint": EndpointFacts(**body.get("endpoint", {})),
                "access": AccessFacts(**body.get("access", {})),
            }
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise RefusedError(
            f"the record of stack {stack} cannot be read by this version of deployer ({error})",
            where=f"{RECORDS_PATH}/{stack}",
            hint="use the version that wrote it, or delete the parameter: `deployer down` then works by tags",
        ) from None


def read(aws: Aws, names: Names) -> Record | None:
    """The stack's record, or None."""
    found = parameters.read(aws, names.record)
    return None if found is None else parse(names.stack, found.value)


def create(aws: Aws, names: Names, record: Record, tags: TagSet) -> Record:
    """Create it; when one is there already (the reply of an earlier try was lost) that one is returned."""
    if parameters.create(aws, names.record, record.to_json(), tag=tags.as_dict()):
        return record
    return read(aws, names) or record


def write(aws: Aws, names: Names, record: Record) -> Record:
    """Overwrite it and return it."""
    parameters.overwrite(aws, names.record, record.to_json())
    return record


def delete(aws: Aws, names: Names) -> bool:
    """Delete it; False when it was gone."""
    return parameters.delete(aws, names.record)


def every(aws: Aws) -> list[tuple[str, Record | None]]:
    """Every stack's name with its record, None for one that cannot be read. Calls grow with pages of ten."""
    found: list[tuple[str, Record | None]] = []
    for parameter in parameters.below(aws, RECORDS_PATH):
        stack = parameter.name.rpartition("/")[2]
        try:
            found.append((stack, parse(stack, parameter.value)))
        except RefusedError:
            found.append((stack, None))
    return sorted(found, key=lambda pair: pair[0])
