"""From a spec's path to a Deployment, its plan document and its files, for the commands that read a spec."""

from __future__ import annotations

from pathlib import Path

from deployer.decide import decide as deciding
from deployer.decide.types import Deployment
from deployer.events import Emit, Event, Json
from deployer.settings import Settings
from deployer.spec.load import load_spec
from deployer.spec.models import LocalStack
from deployer.targets.directory import Directory

refuse_if_unfit = deciding.refuse_if_unfit


def decided(path: Path, settings: Settings) -> Deployment:
    """Load the spec and decide everything. Raises SpecError with every located mistake."""
    loaded = load_spec(path, settings)
    if isinstance(loaded.spec, LocalStack):
        from deployer.targets import local_hardware
        from deployer.targets.local import box_paths

        hardware = local_hardware.detect()
        return deciding.decide(loaded, settings, hardware=hardware, paths=box_paths(settings, loaded.spec.name))
    return deciding.decide(loaded, settings)


def decision_events(deployment: Deployment) -> list[Event]:
    """One `decision` event for each automatic choice."""
    return [
        Event("decision", {"name": d.name, "value": d.value, "reason": d.reason, "source": d.source})
        for d in deployment.decisions
    ]
