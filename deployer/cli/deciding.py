"""From a spec's path to a Deployment, its plan document and its files, for the commands that read a spec."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deployer.decide.decide import decide, plan_document, refuse_if_unfit
from deployer.decide.measured import with_measured
from deployer.decide.types import Deployment
from deployer.engine.tuned import parse_choice
from deployer.events import Emit, Event, Json
from deployer.settings import Settings
from deployer.spec.load import load_spec
from deployer.spec.models import Ec2Stack, LocalStack
from deployer.targets.base import Step
from deployer.targets.directory import Directory

if TYPE_CHECKING:
    from deployer.render.agent_config import LaunchFacts

__all__ = ["decided", "decision_events", "plan_of", "refuse_if_unfit", "rendered_files"]


def decided(path: Path, settings: Settings) -> Deployment:
    """Load the spec and decide everything. Raises SpecError with every located mistake."""
    loaded = load_spec(path, settings)
    if isinstance(loaded.spec, LocalStack):
        from deployer.targets.local_hardware import detect
        from deployer.targets.local_state import box_paths

        return decide(loaded, settings, hardware=detect(), paths=box_paths(settings, loaded.spec.name))
    return decide(loaded, settings)


def decision_events(deployment: Deployment) -> list[Event]:
    """One `decision` event for each automatic choice."""
    return [
        Event("decision", {"name": d.name, "value": d.value, "reason": d.reason, "source": d.source})
        for d in deployment.decisions
    ]


def plan_of(deployment: Deployment, settings: Settings, emit: Emit, *, offline: bool) -> dict[str, Json]:
    """The document of `plan --json`. offline: steps as for an account that knows nothing of the stack."""
    if offline:
        return plan_document(deployment, _first_steps(deployment), _user_data_bytes(deployment))
    target = Directory(settings, emit).of(deployment)
    deployment = target.resolved(deployment)
    steps = target.plan(deployment).steps
    seen = target.preflight(deployment)
    size = _user_data_bytes(deployment)
    if choice := parse_choice(seen.tuned):
        stays = any(step.kind in ("instance", "agent") and step.action in ("keep", "update") for step in steps)
        deployment = with_measured(deployment, choice, stays=stays)
    return plan_document(deployment, steps, size, prices=seen.prices, preflight=seen.checks)


def rendered_files(deployment: Deployment) -> dict[str, str]:
    """Name -> text of everything that would be sent."""
    from deployer.render import files

    return files(deployment, _launch_facts(deployment))


def _first_steps(deployment: Deployment) -> Sequence[Step]:
    spec = deployment.spec
    match spec:
        case LocalStack():
            return [Step("create", "agent", spec.name, "first start")]
        case Ec2Stack():
            from deployer.targets.ec2 import offline_plan

            return offline_plan(deployment).steps


def _user_data_bytes(deployment: Deployment) -> int:
    """What counts against EC2's limit: the gzipped user-data. A local stack has none."""
    if isinstance(deployment.spec, LocalStack):
        return 0
    from deployer.render.user_data import render_user_data

    return len(render_user_data(deployment, _launch_facts(deployment)).gzipped)


def _launch_facts(deployment: Deployment) -> LaunchFacts:
    from deployer.aws.names import Names
    from deployer.catalog.partition import endpoint
    from deployer.render.agent_config import LaunchFacts

    spec = deployment.spec
    if isinstance(spec, LocalStack) or deployment.partition is None:
        return LaunchFacts(api_key_parameter=None, generation=1, expires_at=None, ssm_endpoint=None)
    return LaunchFacts(
        api_key_parameter=Names(spec.name, spec.region).api_key,
        generation=1,
        expires_at=None,
        ssm_endpoint=endpoint(deployment.partition, "ssm", spec.region),
        programs_path=Names(spec.name, spec.region).programs,
        record=Names(spec.name, spec.region).record,
    )
