"""What to type after `up`."""

from __future__ import annotations

from deployer.decide.types import Deployment
from deployer.events import Json
from deployer.targets.base import UpResult


def after_up(deployment: Deployment, result: UpResult) -> list[Json]:
    """Pairs of command and purpose for a stack that just came up."""
    name = deployment.spec.name
    rows: list[Json] = []
    if result.url is None:
        rows.append([f"deployer tunnel {name}", "keep this open in another shell"])
    rows.append([f'eval "$(deployer env {name})"', "OPENAI_BASE_URL and OPENAI_API_KEY"])
    rows.append(
        [
            'curl "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" '
            "-H 'Content-Type: application/json' -d "
            f"""'{{"model":"{deployment.engine.alias}","messages":[{{"role":"user","content":"Hello"}}]}}'""",
            "",
        ]
    )
    rows.append([f"deployer down {name}", "take it away"])
    return rows
