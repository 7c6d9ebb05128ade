"""What each golden case gives today. A case is a folder with a spec.yaml; the other files are what comes of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from deployer.catalog import partition as partitions
from deployer.catalog.types import Hardware
from deployer.decide import decide as deciding
from deployer.decide.document import plan_document
from deployer.decide.types import BoxPaths, Deployment
from deployer.render.agent_config import LaunchFacts
from deployer.render.program import first_stage, program
from deployer.render.user_data import render_user_data
from deployer.settings import Settings
from deployer.spec.load import load_spec
from deployer.spec.models import Ec2Stack, LocalStack
from deployer.spec.values import parse_duration_seconds

FOLDER = Path(__file__).parent
STACKS = FOLDER.parent.parent / "stacks"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/spec.yaml"))
#: 2027-01-15 08:00 UTC, when every case was launched.
LAUNCHED_AT = 1_800_000_000.0
#: The machine of local cases.
LAPTOP = Hardware(
    name="laptop", family="local", architecture="x86_64", cpu="a laptop", vcpus=8, cores=4, memory_mib=16384,
    simd=frozenset({"avx2"}), gpu=None, memory_bandwidth_gbs=None, source="golden case",
)  # fmt: skip
PATHS = BoxPaths(
    weights_dir="/box/weights", state_dir="/box", api_key_file="/box/api-key", engine_log="/box/engine.log",
    console="/box/console",
)  # fmt: skip
AGENT = "<the agent's first stage>\n"


def decided(spec: Path) -> Deployment:
    settings = Settings.from_env({"DEPLOYER_MODELS": "/models", "DEPLOYER_HOME": "/home/person/deployer"})
    loaded = load_spec(spec, settings)
    if isinstance(loaded.spec, LocalStack):
        return deciding.decide(loaded, settings, hardware=LAPTOP, paths=PATHS)
    return deciding.decide(loaded, settings)


def facts(deployment: Deployment) -> LaunchFacts:
    spec, partition = deployment.spec, deployment.partition
    assert isinstance(spec, Ec2Stack) and partition is not None
    ttl = spec.lifetime.ttl
    return LaunchFacts(
        api_key_parameter=f"/deployer/keys/{spec.name}",
        generation=1,
        expires_at=LAUNCHED_AT + parse_duration_seconds(ttl) if ttl else None,
        ssm_endpoint=partitions.endpoint(partition, "ssm", spec.region),
        programs_path=f"/deployer/agents/{spec.name}",
        record=f"/deployer/stacks/{spec.name}",
    )


def produce(name: str) -> dict[str, str]:
    """File name -> text. Left out: what is of the agent itself and the number of bytes, which follow its every change."""
    deployment = decided(FOLDER / name / "spec.yaml")
    document = plan_document(deployment, (), 0)
    del document["user_data_bytes"]
    texts = {
        "plan.json": json.dumps(document, indent=1, ensure_ascii=False) + "\n",
        "argv.txt": "\n".join(deployment.engine.argv) + "\n",
    }
    if isinstance(deployment.spec, Ec2Stack):
        text = render_user_data(deployment, facts(deployment)).text
        stage = "".join(f"   {line}\n" for line in first_stage().splitlines())
        assert stage in text
        text = (
            text.replace(stage, f"   {AGENT}").replace(program().sha256, "<sha256>").replace(program().mark, "<mark>")
        )
        texts["user-data.yaml"] = re.sub(r'( +"/deployer/agents/\S+/<mark>/\d+",?\n)+', "   <its parts>\n", text)
    return texts
