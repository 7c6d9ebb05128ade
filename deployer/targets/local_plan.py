"""What `up` of a local stack has to do, from what is on disk and what runs."""

from __future__ import annotations

import hashlib
import json
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deployer.decide.types import Deployment
from deployer.errors import RefusedError
from deployer.targets.base import Step
from deployer.targets.local_agent import running
from deployer.targets.local_process import ProcessId
from deployer.targets.local_state import LocalRecord, StackFolder


@dataclass(frozen=True)
class LocalPlan:
    """The one step, what is to run, and what was found. config: agent.json as it should be."""

    step: Step
    config: Mapping[str, object]
    record: LocalRecord | None
    agent: ProcessId | None


def plan_local(deployment: Deployment, folder: StackFolder, llama_server: str) -> LocalPlan:
    """Compare agent.json with what was started."""
    record, agent = folder.record(), running(folder)
    config = local_config(deployment, llama_server, record.generation if record else 1)
    if agent is None:
        why = "not running" if record is None else "its process has ended"
        step = Step("create", "agent", folder.name, why)
    elif record is None or record.config_digest != digest(config):
        changed = record is not None and record.spec_digest != deployment.spec_digest
        step = Step("replace", "agent", folder.name, "the spec changed" if changed else "its configuration changed")
    else:
        step = Step("keep", "agent", folder.name, f"runs as process {agent.pid}")
    return LocalPlan(step, config, record, agent)


def local_config(deployment: Deployment, llama_server: str, generation: int) -> dict[str, object]:
    """agent.json for this machine: the rendered one with the program that is installed here."""
    from deployer.render.agent_config import LaunchFacts, agent_config

    facts = LaunchFacts(api_key_parameter=None, generation=generation, expires_at=None, ssm_endpoint=None)
    config: dict[str, object] = {**agent_config(deployment, facts)}
    engine = config["engine"]
    assert isinstance(engine, dict)
    config["engine"] = {**engine, "command": [llama_server], "image": None}
    config["runtime"] = "process"
    return config


def digest(config: Mapping[str, object]) -> str:
    """A short name for one configuration."""
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:16]


def refuse_missing_weights(deployment: Deployment) -> None:
    """Raises RefusedError when the weights are to come from a file that is not there."""
    sources = deployment.weights.sources
    paths = [Path(urllib.request.url2pathname(urllib.parse.urlsplit(source.url).path)) for source in sources]
    if all(source.kind == "file" for source in sources) and not any(path.is_file() for path in paths):
        raise RefusedError(
            f"there is no model file {paths[0] if paths else deployment.weights.file}",
            where="model.source",
            hint="`deployer sandbox model` writes a small synthetic model to try things with; "
            "otherwise name the folder of your GGUF in model.source",
        )
