"""What must hold between the keys of a spec. Runs beside the type check, so that all mistakes are told at once:
values that are wrong already are treated as absent.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from deployer.catalog.partition import for_region
from deployer.engine.dialect import dialect
from deployer.engine.extra_args import check_extra_args
from deployer.spec.findings import Findings
from deployer.spec.models import SHORTHANDS, LocalStack
from deployer.spec.names import unknown_instance_type, unknown_model, unknown_quant, unknown_region
from deployer.spec.positions import Node, Path, key_position, scalars, value_position
from deployer.spec.shape import Model, alternatives_at, model_for

_UNQUANTISED = frozenset({"f32", "f16", "bf16"})
_SECRETS = (
    (re.compile(r"\b(AKIA|ASIA)[A-Z0-9]{16}\b"), "an AWS access key"),
    (re.compile(r"\bhf_[A-Za-z0-9]{20,}"), "a Hugging Face token"),
    (re.compile(r"\bsk-[A-Za-z0-9_-]{20,}"), "an API key"),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY"), "a private key"),
    (re.compile(r"^[a-z0-9]+://[^/@\s]+:[^/@\s]+@"), "a password in a URL"),
    (
        re.compile(r"[?&](X-Amz-Signature|X-Amz-Security-Token|Signature|AWSAccessKeyId)=", re.IGNORECASE),
        "a signed URL",
    ),
)


class _Facts:
    """Effective values: what was written, else the model's default; None for what is wrong or absent."""

    def __init__(self, root: Node, data: dict[str, Any], model: Model, findings: Findings) -> None:
        self._root = root
        self._data = data
        self._model = model
        self._findings = findings
        self.local = model is LocalStack

    def get(self, *path: str) -> Any:
        here: Any = self._data
        for index, step in enumerate(path):
            if self._findings.seen(path[: index + 1]):
                return None
            if isinstance(here, dict) and step in here:
                here = here[step]
            elif not isinstance(here, dict):
                # `mtp: on` is short for `mtp: {mode: on}`.
                return here if SHORTHANDS.get(path[:index]) == step else None
            else:
                return self._default(path)
        return here

    def _default(self, path: tuple[str, ...]) -> Any:
        owner = model_for(alternatives_at(self._model, path[:-1], self._data), self._inner(path[:-1]))
        field = owner.model_fields.get(path[-1]) if owner else None
        return None if field is None or field.is_required() else field.default

    def _inner(self, path: tuple[str, ...]) -> Any:
        here: Any = self._data
        for step in path:
            here = here.get(step) if isinstance(here, dict) else None
        return here

    def origin(self, *path: str) -> str:
        """Where the value was written: "" for the file, OVERRIDE for --set."""
        return value_position(self._root, path).origin

    def refuse(self, path: Path, message: str) -> None:
        if not self._findings.seen(path):
            self._findings.add(path, value_position(self._root, path), message)

    def refuse_unknown(self, path: tuple[str, ...], unknown: Callable[[str], str | None]) -> None:
        """`unknown` says why a name is not known; anything but text is left to the type check."""
        name = self.get(*path)
        why = unknown(name) if isinstance(name, str) else None
        if why:
            self.refuse(path, why)

    def refuse_key(self, path: Path, message: str) -> None:
        if not self._findings.seen(path):
            self._findings.add(path, key_position(self._root, path), message)


def check_secrets(root: Node, findings: Findings) -> None:
    """Refuse values that are plainly credentials; before anything else, so that no other message repeats them."""
    for path, node in scalars(root):
        for pattern, what in _SECRETS:
            if pattern.search(node.text) and not findings.seen(path):
                message = f"looks like {what}; a spec ends up in plain text in the account, so no secret belongs in it"
                findings.add(path, node.at, message)


def check_rules(root: Node, data: dict[str, Any], model: Model, findings: Findings) -> None:
    """Put every broken rule into `findings`."""
    facts = _Facts(root, data, model, findings)
    _model(facts)
    _engine(facts)
    if not facts.local:
        facts.refuse_unknown(("region",), unknown_region)
        _endpoint(facts)
        _instance(facts)
        _tags(facts)


def _model(facts: _Facts) -> None:
    section = facts.get("model")
    if not isinstance(section, dict):
        return
    name, source, file = "name" in section, "source" in section, "file" in section
    if not name and not source and not file:
        facts.refuse_key(("model",), "name a catalogue model (model.name), or give model.source and model.file")
    elif file and not source:
        facts.refuse(("model", "source"), "is required with model.file: where does the file lie?")
    elif source and not file and not name:
        facts.refuse(("model", "file"), "is required with model.source, or model.name for the file of the catalogue")
    facts.refuse_unknown(("model", "name"), unknown_model)
    catalogue_name = facts.get("model", "name")
    if isinstance(catalogue_name, str):
        facts.refuse_unknown(("model", "quant"), partial(unknown_quant, catalogue_name))
    if "quant" in section and not name:
        facts.refuse_key(("model", "quant"), "chooses a file of a catalogue model; without model.name, name model.file")
    if facts.get("model", "mtp_head") is False and facts.get("engine", "mtp", "mode") == "on":
        path = ("engine", "mtp", "mode") if isinstance(facts.get("engine", "mtp"), dict) else ("engine", "mtp")
        facts.refuse(path, "MTP cannot be on: model.mtp_head says that the model has no MTP head")


def _engine(facts: _Facts) -> None:
    runtime = facts.get("engine", "runtime")
    if facts.local and runtime == "docker":
        facts.refuse(("engine", "runtime"), "a local stack runs llama-server as a process; write process or auto")
    # A runtime from --set wins over the file's image; a file that wants both contradicts itself.
    contradiction = runtime == "process" and facts.origin("engine", "runtime") == facts.origin("engine", "image")
    if facts.get("engine", "image") is not None and (contradiction or facts.local):
        why = "for target: local" if facts.local else "with runtime: process"
        facts.refuse_key(("engine", "image"), f"no container image is used {why}")
    cache_type = facts.get("engine", "cache_type_v")
    if facts.get("engine", "flash_attention") == "off" and cache_type not in _UNQUANTISED | {None}:
        message = f"{cache_type} needs flash attention; write flash_attention: on (or auto), or cache_type_v: f16"
        facts.refuse(("engine", "cache_type_v"), message)
    mode = facts.get("engine", "mtp", "mode")
    if facts.get("engine", "tune") == "on-first-boot" and mode in ("on", "off"):
        message = f"measures whether MTP pays, but engine.mtp is {mode} already; write mtp: auto, or tune: off"
        facts.refuse(("engine", "tune"), message)
    arguments = facts.get("engine", "extra_args")
    if isinstance(arguments, list) and arguments:
        for problem in check_extra_args(arguments, dialect()):
            choices = f" ({problem.hint})" if problem.hint else ""
            facts.refuse(("engine", "extra_args", problem.index), f"{problem.message}{choices}")


def _endpoint(facts: _Facts) -> None:
    port, region = facts.get("endpoint", "port"), facts.get("region")
    public = facts.get("endpoint", "expose") == "public" and facts.get("endpoint", "icp_filed") is not True
    partition = for_region(region) if public and isinstance(region, str) else None
    # The carriers of AWS China block these for accounts without an ICP filing, on every public address.
    if partition is not None and port in partition.blocked_public_ports:
        message = (
            f"public port {port} is blocked in {region} without an ICP filing; take another port such as 18080, "
            "or set endpoint.icp_filed: true when the account has one"
        )
        facts.refuse(("endpoint", "port"), message)
    if port is not None and port == facts.get("access", "port"):
        facts.refuse(("endpoint", "port"), f"{port} is the SSH port too (access.port); they must differ")


def _instance(facts: _Facts) -> None:
    facts.refuse_unknown(("instance", "type"), unknown_instance_type)
    fallbacks = facts.get("instance", "fallbacks")
    if not isinstance(fallbacks, list):
        return
    tried = [facts.get("instance", "type")]
    for index, fallback in enumerate(fallbacks):
        if isinstance(fallback, str) and fallback in tried:
            what = "the same as instance.type" if fallback == tried[0] else "listed twice"
            facts.refuse(("instance", "fallbacks", index), f'"{fallback}" is {what}; name another type')
        elif isinstance(fallback, str) and (why := unknown_instance_type(fallback)):
            facts.refuse(("instance", "fallbacks", index), why)
        tried.append(fallback)


def _tags(facts: _Facts) -> None:
    tags = facts.get("tags")
    for key in tags if isinstance(tags, dict) else ():
        if key.lower().startswith("aws:"):
            facts.refuse_key(("tags", key), "tags that begin with aws: belong to AWS")
        elif key.lower().startswith("deployer:"):
            facts.refuse_key(("tags", key), "tags that begin with deployer: are how deployer knows what is its own")
        elif key == "Name":
            facts.refuse_key(("tags", key), "the Name tag is set by deployer, from the stack's name")
