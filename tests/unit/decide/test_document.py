from __future__ import annotations

import json

from deployer.decide.decide import plan_document
from deployer.targets.base import Step
from tests.unit.decide.helpers import LOCAL, decided

STEPS = [Step("create", "instance", "deployer-a-instance", "it does not exist")]


def test_the_contract() -> None:
    deployment = decided()
    document = json.loads(json.dumps(plan_document(deployment, STEPS, 9000)))
    assert list(document) == [
        "stack",
        "region",
        "target",
        "decisions",
        "hardware",
        "engine",
        "memory",
        "speed",
        "money",
        "preflight",
        "user_data_bytes",
        "steps",
    ]
    assert (document["stack"], document["region"], document["target"]) == ("a", "cn-northwest-1", "ec2")
    assert document["engine"] == {
        "build": "cuda",
        "argv": list(deployment.engine.argv),
        "mtp": {"enabled": True, "draft_n_max": 2},
    }
    memory = document["memory"]
    assert set(memory) == {"fits", "need_bytes", "have_bytes", "parts"}
    assert sum(memory["parts"].values()) == memory["need_bytes"]
    assert document["user_data_bytes"] == 9000
    assert document["steps"] == [
        {"action": "create", "kind": "instance", "name": "deployer-a-instance", "reason": "it does not exist"}
    ]
    assert document["hardware"]["gpu"]["name"] == "A10G"
    for decision in document["decisions"]:
        assert (
            {"name", "value", "reason", "source"}
            <= set(decision)
            <= {"name", "value", "reason", "source", "alternative"}
        )


def test_local() -> None:
    document = plan_document(decided(LOCAL), [], 0)
    assert document["region"] is None
    assert document["steps"] == []
