"""`plan --json`: the stable document for scripts."""

from __future__ import annotations

from collections.abc import Sequence

from deployer.catalog.prices import Price
from deployer.catalog.types import Hardware
from deployer.decide.checks import Check
from deployer.decide.money import dated_prices, money_document, speed_document, speed_of
from deployer.decide.types import Decision, Deployment
from deployer.events import Json
from deployer.spec.models import Ec2Stack
from deployer.targets.base import Step


def plan_document(
    deployment: Deployment,
    steps: Sequence[Step],
    user_data_bytes: int,
    *,
    prices: Sequence[Price] = (),
    preflight: Sequence[Check] = (),
) -> dict[str, Json]:
    """The document; its keys are a contract. user_data_bytes: 0 for a local stack.

    prices: what AWS told, they count before the dated ones. preflight: what was asked of the account.
    """
    spec, engine, memory = deployment.spec, deployment.engine, deployment.memory
    speed = speed_of(deployment)
    dated = dated_prices(deployment.hardware.name, spec.region) if isinstance(spec, Ec2Stack) else ()
    return {
        "stack": spec.name,
        "region": spec.region if isinstance(spec, Ec2Stack) else None,
        "target": spec.target,
        "decisions": [_decision(decision) for decision in deployment.decisions],
        "hardware": _hardware(deployment.hardware),
        "engine": {
            "build": engine.build.name,
            "argv": list(engine.argv),
            "mtp": {"enabled": engine.mtp.enabled, "draft_n_max": engine.mtp.draft_n_max},
        },
        "memory": {
            "fits": memory.fits,
            "need_bytes": memory.need_bytes,
            "have_bytes": memory.have_bytes,
            "parts": dict(memory.parts),
        },
        "speed": speed_document(speed),
        "money": money_document(deployment, speed, (*dated, *prices)),
        "preflight": [
            {"name": check.name, "verdict": check.verdict, "text": check.text, "fix": check.fix} for check in preflight
        ],
        "user_data_bytes": user_data_bytes,
        "steps": [
            {"action": step.action, "kind": step.kind, "name": step.name, "reason": step.reason} for step in steps
        ],
    }


def _decision(decision: Decision) -> Json:
    shown: dict[str, Json] = {
        "name": decision.name,
        "value": decision.value,
        "reason": decision.reason,
        "source": decision.source,
    }
    if decision.alternative is not None:
        shown["alternative"] = decision.alternative
    return shown


def _hardware(hardware: Hardware) -> Json:
    gpu = hardware.gpu
    return {
        "name": hardware.name,
        "family": hardware.family,
        "architecture": hardware.architecture,
        "cpu": hardware.cpu,
        "vcpus": hardware.vcpus,
        "cores": hardware.cores,
        "memory_mib": hardware.memory_mib,
        "memory_bandwidth_gbs": hardware.memory_bandwidth_gbs,
        "simd": [*sorted(hardware.simd)],
        "gpu": None
        if gpu is None
        else {
            "name": gpu.name,
            "count": gpu.count,
            "vram_mib": gpu.vram_mib,
            "compute_capability": gpu.compute_capability,
            "bandwidth_gbs": gpu.bandwidth_gbs,
        },
        "source": hardware.source,
    }
