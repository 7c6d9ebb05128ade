"""User-data: within EC2's limit, parsed back, with no secret and no way out of its quotes."""

from __future__ import annotations

import gzip
import json
import random
import string
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

import deployer.render as render
from deployer.decide.types import Deployment, WeightSource
from deployer.errors import RefusedError
from deployer.rehearsal.machines.timers import parse_timer
from deployer.rehearsal.machines.units import parse_unit
from deployer.render.agent_config import LaunchFacts
from deployer.render.user_data import LIMIT_BYTES, UserData, render_user_data, sent_config
from deployer.spec.models import Ec2Stack, LifetimeSpec
from deployer.spec.values import parse_duration_seconds
from tests.golden.cases import FOLDER, decided, facts


@pytest.fixture(scope="module")
def deployment() -> Deployment:
    return decided(FOLDER / "g5-27b-mtp/spec.yaml")


@pytest.fixture(scope="module")
def launch(deployment: Deployment) -> LaunchFacts:
    return facts(deployment)


def parsed(data: UserData) -> tuple[dict[str, dict[str, Any]], list[list[str]]]:
    """(path -> write_files entry, runcmd)."""
    text = gzip.decompress(data.gzipped).decode()
    assert text == data.text and text.startswith("#cloud-config\n")
    document = YAML(typ="safe", pure=True).load(text)
    return {entry["path"]: entry for entry in document["write_files"]}, document["runcmd"]


def test_what_cloud_init_gets(deployment: Deployment, launch: LaunchFacts) -> None:
    files, commands = parsed(render_user_data(deployment, launch))
    assert list(files) == [
        "/opt/deployer/lib/deployer_agent/__main__.py",
        "/etc/deployer/agent.json",
        "/etc/systemd/system/deployer-agent.service",
        "/etc/systemd/system/deployer-ttl.service",
        "/etc/systemd/system/deployer-ttl.timer",
    ]
    assert files["/etc/deployer/agent.json"]["permissions"] == "0600"
    assert json.loads(files["/etc/deployer/agent.json"]["content"]) == sent_config(deployment, launch)
    assert commands == [
        ["systemctl", "daemon-reload"],
        ["systemctl", "enable", "--now", "--no-block", "deployer-ttl.timer"],
        ["systemctl", "enable", "--now", "--no-block", "deployer-agent.service"],
    ]
    assert "ExecStopPost" not in files["/etc/systemd/system/deployer-agent.service"]["content"]


@pytest.mark.parametrize(("idle", "seconds"), [("30m", 3600.0), ("2h", 7200.0)])
def test_an_idle_time_is_the_agents_and_a_timer_counts_while_nothing_serves(idle: str, seconds: float) -> None:
    deployment = decided(FOLDER / "private-endpoint/spec.yaml")
    spec = deployment.spec
    assert isinstance(spec, Ec2Stack)
    deployment = replace(deployment, spec=spec.model_copy(update={"lifetime": LifetimeSpec(idle=idle)}))
    files, commands = parsed(render_user_data(deployment, facts(deployment)))
    texts = {path.rpartition("/")[2]: entry["content"] for path, entry in files.items()}
    assert json.loads(texts["agent.json"])["idle_s"] == parse_duration_seconds(idle)
    timer = parse_timer("deployer-idle.timer", texts["deployer-idle.timer"])
    assert (timer.after, timer.unit, timer.wanted_by) == (seconds, "deployer-idle.service", ())
    assert parse_unit(timer.unit, texts[timer.unit]).command == ("/usr/bin/systemctl", "poweroff")
    agent = parse_unit("deployer-agent.service", texts["deployer-agent.service"])
    assert agent.stop_post == ("/usr/bin/systemctl", "start", "--no-block", "deployer-idle.timer")
    # A failed start of the timer, as while the machine goes down, fails nothing.
    assert "ExecStopPost=-/usr" in texts["deployer-agent.service"]
    assert [words[-1] for words in commands] == ["daemon-reload", "deployer-agent.service"]


def test_without_a_time_to_live_there_is_no_timer(deployment: Deployment, launch: LaunchFacts) -> None:
    files, commands = parsed(render_user_data(deployment, replace(launch, expires_at=None)))
    assert len(files) == 3 and len(commands) == 2


def test_the_unit(deployment: Deployment, launch: LaunchFacts) -> None:
    text = render.files(deployment, launch)["deployer-agent.service"]
    unit = parse_unit("deployer-agent.service", text)
    assert unit.command == ("/usr/bin/python3", "-m", "deployer_agent", "--config", "/etc/deployer/agent.json")
    assert unit.environment == {"PYTHONPATH": "/opt/deployer/lib", "PYTHONUNBUFFERED": "1"}
    assert unit.restart == "on-failure"
    # The engine gets up to 8 s from the agent (agent/processes.py), which then puts its work down.
    assert unit.stop_seconds >= 15
    assert not unit.kill_all
    assert 143 in unit.success


def test_the_timer_is_absolute_and_survives_a_stop(deployment: Deployment, launch: LaunchFacts) -> None:
    text = render.files(deployment, replace(launch, expires_at=1_800_000_000.9))["deployer-ttl.timer"]
    assert "OnCalendar=2027-01-15 08:00:00 UTC\n" in text
    assert "Persistent=true\n" in text


def longest(deployment: Deployment) -> Deployment:
    """Every text as long as the schema allows, and incompressible."""
    source = random.Random(7)
    letters = string.ascii_letters + string.digits + "._-"

    def text(length: int) -> str:
        return "x" + "".join(source.choices(letters, k=length - 1))

    name, file = text(32).lower(), text(201) + ".gguf"
    engine = deployment.engine
    argv = [word if word != engine.alias else "a" for word in engine.argv]
    argv[argv.index("-m") + 1] = f"{deployment.paths.weights_dir}/{file}"
    argv[argv.index("--alias") + 1] = alias = text(101)
    url = f"https://{text(60)}/models/{text(80)}/{text(80)}/resolve/{text(40)}/{file}"
    listing = f"https://{text(60)}/api/v1/models/{text(80)}/{text(80)}/repo/files?Revision={text(40)}"
    return replace(
        deployment,
        spec=deployment.spec.model_copy(update={"name": name}),
        engine=replace(engine, argv=tuple(argv), alias=alias, image=text(255), runtime="docker"),
        weights=replace(
            deployment.weights,
            file=file,
            sha256="".join(source.choices("0123456789abcdef", k=64)),
            size_bytes=10**12 + 1,
            size_exact=True,
            sources=(WeightSource("modelscope", url, listing, file), WeightSource("https", url + "2")),
        ),
    )


def test_the_worst_case_stays_below_the_limit(deployment: Deployment, launch: LaunchFacts) -> None:
    worst = longest(deployment)
    launch = replace(launch, api_key_parameter=f"/deployer/keys/{worst.spec.name}", generation=10**6)
    assert len(render_user_data(worst, launch).gzipped) <= LIMIT_BYTES


def test_too_much_is_refused_with_the_numbers(deployment: Deployment, launch: LaunchFacts) -> None:
    words = ["".join(random.Random(n).choices(string.printable[:94], k=1024)) for n in range(16)]
    engine = replace(deployment.engine, argv=(*deployment.engine.argv, *words))
    with pytest.raises(RefusedError, match=r"\d+ bytes compressed and 16256 are allowed .* about \d+, .* about \d+"):
        render_user_data(replace(deployment, engine=engine), launch)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=200), max_size=6), st.text(max_size=200))
def test_nothing_gets_out_of_its_place(
    deployment: Deployment, launch: LaunchFacts, words: list[str], image: str
) -> None:
    engine = replace(deployment.engine, argv=(*deployment.engine.argv, *words), image=image)
    files, commands = parsed(render_user_data(replace(deployment, engine=engine), launch))
    assert len(files) == 5 and len(commands) == 3
    config = json.loads(files["/etc/deployer/agent.json"]["content"])
    assert config["engine"]["argv"][len(deployment.engine.argv) :] == words
    assert config["engine"]["image"] == image


def test_files_for_a_person(deployment: Deployment, launch: LaunchFacts) -> None:
    texts = render.files(deployment, launch)
    assert set(texts) == {
        *("agent.json", "agent-program.py", "argv.txt", "Dockerfile", "user-data.yaml", "user-data.size.txt"),
        *("deployer-agent.service", "deployer-ttl.service", "deployer-ttl.timer"),
    }
    assert texts["argv.txt"].splitlines() == list(deployment.engine.argv)


def test_a_local_stack_sends_nothing() -> None:
    local = decided(FOLDER / "local-tiny/spec.yaml")
    texts = render.files(local, LaunchFacts(None, 1, None, None))
    assert set(texts) == {"agent.json", "argv.txt", "Dockerfile"}
