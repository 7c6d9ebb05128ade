"""Deployment -> user-data: a cloud-config with the agent's first stage in it, compressed, within EC2's 16 KiB."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass

from deployer.decide.types import Deployment
from deployer.errors import RefusedError
from deployer.events import Json
from deployer.render import agent_config as agent
from deployer.render.agent_config import LaunchFacts, agent_config, idle_seconds
from deployer.render.environment import render_template
from deployer.render.program import PACKAGE, Program, first_stage, part_names, program
from deployer.render.units import AGENT_UNIT, CONFIG_PATH, LIBRARY, TTL_TIMER, UNIT_FOLDER, units

#: EC2 refuses more than 16,384 bytes; a little of it is kept free.
EC2_LIMIT_BYTES = 16_384
LIMIT_BYTES = EC2_LIMIT_BYTES - 128
#: zlib's memory levels set how often it begins a new table of codes; which is best depends on the text (1 %).
_MEMORY_LEVELS = (5, 6, 7, 8)


@dataclass(frozen=True)
class UserData:
    """text: the cloud-config a person can read. gzipped: what is sent; cloud-init unpacks it."""

    text: str
    gzipped: bytes


@dataclass(frozen=True)
class _File:
    path: str
    content: str
    mode: str = "0644"


def render_user_data(deployment: Deployment, facts: LaunchFacts) -> UserData:
    """Deterministic for the same deployment and facts. Raises RefusedError when EC2 would not take it."""
    config = _config_json(deployment, facts)
    unit_texts = units(deployment.spec.name, facts.expires_at, idle_seconds(deployment))
    files = [
        _File(f"{LIBRARY}/{PACKAGE}/__main__.py", first_stage()),
        _File(CONFIG_PATH, config, mode="0600"),
        *(_File(f"{UNIT_FOLDER}/{name}", text) for name, text in unit_texts.items()),
    ]
    # The time to live is armed first: whatever becomes of the agent, the instance ends.
    started = [*(name for name in unit_texts if name == TTL_TIMER), AGENT_UNIT]
    text = render_template("user-data/cloud-config.yaml.j2", files=files, units=started)
    gzipped = _compress(text)
    if len(gzipped) > LIMIT_BYTES:
        stage, own = len(_compress(first_stage())), len(_compress(config))
        raise RefusedError(
            f"the user-data is {len(gzipped)} bytes compressed and {LIMIT_BYTES} are allowed (EC2's limit is "
            f"{EC2_LIMIT_BYTES}): the agent takes about {stage}, this stack's configuration about {own}",
            where="user-data",
            hint="shorten engine.extra_args, engine.image and model.source",
        )
    return UserData(text, gzipped)


def _config_json(deployment: Deployment, facts: LaunchFacts) -> str:
    # Nothing beyond ASCII, so that the file is the same whatever encoding its reader assumes.
    return json.dumps(sent_config(deployment, facts), indent=1, ensure_ascii=True) + "\n"


def sent_config(deployment: Deployment, facts: LaunchFacts) -> dict[str, Json]:
    """agent.json of an instance: the agent's configuration, where its program is, and where a later end is named."""
    return {
        **agent_config(deployment, facts),
        "record": facts.record,
        **({"spot_poll_s": agent.SPOT_POLL_SECONDS} if facts.spot else {}),
        "program": _where(facts.programs_path or "", program()),
    }


def _where(path: str, one: Program) -> dict[str, Json]:
    """For the first stage: the parameters to put together, what must come out, and where it is kept."""
    return {
        "parameters": [*part_names(path, one)],
        "sha256": one.sha256,
        "file": f"{LIBRARY}/{PACKAGE}/program-{one.mark}.py",
    }


def _compress(text: str) -> bytes:
    """Gzip without a name or a time, so that the same text gives the same bytes."""
    return min((_gzip(text.encode(), level) for level in _MEMORY_LEVELS), key=len)


def _gzip(data: bytes, memory_level: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16, memory_level)
    return packer.compress(data) + packer.flush()
