"""The kinds of value that a spec's fields have, each with its check and the wording of what it should be."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from deployer.spec.forms import INSTANCE_TYPE, Form
from deployer.spec.values import parse_duration_seconds, parse_network

CacheType = Literal["f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"]
BuildName = Literal["auto", "graviton", "avx512", "cuda", "generic"]
OnOff = Literal["auto", "on", "off"]


def _duration(value: str) -> str:
    parse_duration_seconds(value)
    return value


#: Shorter than this, a pause between two questions of one person would end the instance.
_SHORTEST_IDLE_SECONDS = 300


def _idle_time(value: str) -> str:
    if parse_duration_seconds(value) < _SHORTEST_IDLE_SECONDS:
        raise ValueError(f'"{value}" is too short: a person who reads an answer is not idle; write at least 5m')
    return value


def no_control_characters(value: str) -> str:
    """The value, without line breaks, tabs and the like. Raises ValueError."""
    if re.search(r"[\x00-\x1f\x7f]", value):
        raise ValueError("control characters (line breaks, tabs …) are not accepted")
    return value


# 32 keeps `deployer-<name>-role-<region>` inside IAM's 64 characters.
StackName = Annotated[
    str,
    Field(
        pattern=r"^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$",
        description="DNS label, at most 32 characters: lower case letters, digits and hyphens, starting with a letter.",
    ),
    Form("a name of lower case letters, digits and hyphens, starting with a letter, at most 32 characters"),
]
Cidr = Annotated[
    str,
    AfterValidator(parse_network),
    Field(description="A network such as 10.0.0.0/16, or one address such as 203.0.113.7/32."),
    Form("a network such as 10.0.0.0/16"),
]
Duration = Annotated[
    str,
    AfterValidator(_duration),
    Field(description="A whole number and a unit: 90m, 8h, 2d."),
    Form("a duration such as 90m, 8h or 2d"),
]
IdleTime = Annotated[
    str,
    AfterValidator(_idle_time),
    Field(description="A whole number and a unit, at least 5m: 30m, 2h."),
    Form("a duration of at least 5m such as 30m or 2h"),
]
Text = Annotated[str, Field(min_length=1, max_length=1024), AfterValidator(no_control_characters)]
Port = Annotated[int, Field(ge=1, le=65535)]
InstanceType = Annotated[str, Field(pattern=INSTANCE_TYPE), Form("an instance type such as g5.xlarge")]
FileName = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,200}\.gguf$", description="A GGUF file name, without folders."),
    Form("a GGUF file name such as model-Q4_K_M.gguf, without folders"),
]


class Strict(BaseModel):
    """Unknown keys are errors, values are not coerced across types, instances do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


TagKey = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9 _.:/=+@-]{1,128}$"),
    Form("a tag key of letters, digits, spaces and _ . : / = + - @ (at most 128)"),
]
TagValue = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9 _.:/=+@-]{0,256}$"),
    Form("a tag value of letters, digits, spaces and _ . : / = + - @ (at most 256)"),
]
