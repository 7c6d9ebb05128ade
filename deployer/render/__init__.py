"""Deployment -> the texts that are sent: user-data, agent configuration, units, Dockerfile. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deployer.decide.types import Deployment
    from deployer.render.agent_config import LaunchFacts


def files(deployment: Deployment, facts: LaunchFacts) -> dict[str, str]:
    """File name -> text of everything that would be sent or built, for `deployer render`.

    A local stack has no user-data and no units. Raises RefusedError when the user-data is too large.
    """
    import json

    from deployer.render.agent_config import agent_config, idle_seconds
    from deployer.render.dockerfiles import dockerfile
    from deployer.render.program import agent_program
    from deployer.render.units import units
    from deployer.render.user_data import LIMIT_BYTES, render_user_data, sent_config
    from deployer.spec.models import Ec2Stack

    engine = deployment.engine
    texts = {
        "agent.json": json.dumps(agent_config(deployment, facts), indent=1) + "\n",
        "argv.txt": "\n".join(engine.argv) + "\n",
        "Dockerfile": dockerfile(engine.build, port=engine.port, host=engine.host),
    }
    if isinstance(deployment.spec, Ec2Stack):
        user_data = render_user_data(deployment, facts)
        texts["user-data.yaml"] = user_data.text
        texts["agent.json"] = json.dumps(sent_config(deployment, facts), indent=1) + "\n"
        texts["agent-program.py"] = agent_program()
        texts["user-data.size.txt"] = f"{len(user_data.gzipped)} bytes sent (gzip), {LIMIT_BYTES} allowed\n"
        texts |= units(deployment.spec.name, facts.expires_at, idle_seconds(deployment))
    return texts
