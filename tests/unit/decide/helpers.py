"""Specs in a few lines, decided."""

from __future__ import annotations

from collections.abc import Mapping

from deployer.catalog import hardware as catalogue
from deployer.decide.decide import KnownFile, decide
from deployer.decide.types import Decision, Deployment
from deployer.settings import Settings
from deployer.spec.load import LoadedSpec, parse_spec

EC2 = """\
name: a
target: ec2
instance:
  type: g5.xlarge
model:
  name: Qwen3.6-27B
"""

LOCAL = """\
name: a
target: local
model:
  source: file:///models
  file: x.gguf
"""


def load(text: str = EC2, **overrides: str) -> LoadedSpec:
    """Overrides are dotted keys with `__` for the dot."""
    dotted = {key.replace("__", "."): value for key, value in overrides.items()}
    return parse_spec(text, "stacks/a.yaml", environ={"HOME": "/home/u"}, overrides=dotted)


def settings(environ: Mapping[str, str] | None = None, region: str | None = None) -> Settings:
    return Settings.from_env({"HOME": "/home/u", **(environ or {})}, region=region)


def decided(text: str = EC2, *, known_file: KnownFile | None = None, **overrides: str) -> Deployment:
    loaded = load(text, **overrides)
    here = catalogue.lookup("c7i.4xlarge") if loaded.spec.target == "local" else None
    return decide(loaded, settings(), hardware=here, known_file=known_file)


def why(deployment: Deployment, name: str) -> Decision:
    (found,) = [decision for decision in deployment.decisions if decision.name == name]
    return found
