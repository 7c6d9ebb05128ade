"""The nine rungs of one deployment, in order: six that decide, three that warn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from deployer.decide.money import predicted_band
from deployer.decide.types import Deployment
from deployer.engine.tuned import parse_choice
from deployer.events import Emit
from deployer.health.accelerator import AcceleratorUsed
from deployer.health.agent import AgentPhases
from deployer.health.base import Probe
from deployer.health.client import EngineClient
from deployer.health.completion import RealCompletion
from deployer.health.engine import EngineHealth
from deployer.health.models import ModelListed
from deployer.health.mtp import DraftsAccepted
from deployer.health.port import PortAnswers
from deployer.health.speed import Speed
from deployer.spec.network import tls_of


@dataclass(frozen=True)
class Rungs:
    """probes: for climb. The others are the probes that know something afterwards (host keys, URL, completion)."""

    probes: tuple[Probe, ...]
    agent: AgentPhases
    port: PortAnswers
    completion: RealCompletion


def rungs_for(
    deployment: Deployment,
    *,
    instance: Probe,
    console: Callable[[], str],
    open_endpoint: Callable[[AgentPhases], str],
    api_key: str,
    emit: Emit,
    expected_speed: tuple[float, float] | None = None,
) -> Rungs:
    """instance: the first rung, such as InstanceRunning. console: see the agent rung.

    expected_speed: lowest and highest tokens/s; None takes what is predicted for the hardware, if anything is.
    open_endpoint: gets the agent rung, whose `facts` hold the host keys by then; returns the base URL on this machine.
    """
    engine = deployment.engine
    agent = AgentPhases(console, emit, weights_bytes=deployment.weights.size_bytes)

    def certificate() -> str | None:
        return agent.facts.certificate if tls_of(deployment.spec.endpoint) else None

    def drafting() -> bool:
        choice = parse_choice(agent.facts.ready.get("tuned"))
        return engine.mtp.enabled if choice is None else choice.drafts > 0

    port = PortAnswers(lambda: open_endpoint(agent), certificate)
    client = EngineClient(port.base_url, api_key, certificate=certificate)
    completion = RealCompletion(client, emit, alias=engine.alias)
    probes: tuple[Probe, ...] = (
        instance,
        agent,
        port,
        EngineHealth(client),
        ModelListed(client, engine.alias, engine.context),
        completion,
        AcceleratorUsed(engine.build.name == "cuda", lambda: agent.facts.ready),
        DraftsAccepted(drafting, lambda: completion.result),
        Speed(lambda: completion.result, expected_speed or predicted_band(deployment)),
    )
    return Rungs(probes, agent, port, completion)
