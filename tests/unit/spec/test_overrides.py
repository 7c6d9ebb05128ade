"""Values from --set and DEPLOYER_SET."""

from __future__ import annotations

from pathlib import Path

import pytest

from deployer.errors import SpecError
from deployer.settings import Settings
from deployer.spec.load import load_spec
from deployer.spec.models import Ec2Stack
from tests.unit.spec.helpers import EC2, LOCAL, STACKS, load, mistakes

REHEARSAL = {"engine.runtime": "process", "access.port": "2222"}


def test_values_of_every_kind() -> None:
    overrides = {
        "engine.context": "16384",
        "engine.mtp.draft_n_max": "3",
        "instance.fallbacks": "[g5.2xlarge]",
        "lifetime.ttl": "2h",
        "tags.team": "infra",
        "endpoint.expose": "tunnel",
    }
    spec = load(EC2 + "engine: {mtp: on}\n", overrides=overrides).spec
    assert isinstance(spec, Ec2Stack)
    assert spec.engine.context == 16384
    assert (spec.engine.mtp.mode, spec.engine.mtp.draft_n_max) == ("on", 3)
    assert spec.instance.fallbacks == ["g5.2xlarge"]
    assert spec.lifetime.ttl == "2h"
    assert spec.tags == {"team": "infra"}


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem)
def test_one_setting_serves_stacks_of_every_target(path: Path) -> None:
    spec = load(path.read_text(), overrides=REHEARSAL).spec
    assert spec.engine.runtime == "process"
    if isinstance(spec, Ec2Stack):
        assert spec.access.port == 2222


def test_a_section_of_another_target_is_skipped_but_a_misspelt_key_is_not() -> None:
    assert mistakes(LOCAL, overrides={"access.anything": "1", "region": "x"}) == []
    assert mistakes(LOCAL, overrides={"acess.port": "1", "engine.contxt": "1", "endpoint.allow": "[]"}) == [
        "--set acess: unknown key — known here: name, target, model, engine, endpoint",
        "--set endpoint.allow: only for target: ec2",
        '--set engine.contxt: unknown key — did you mean "context"?',
    ]


def test_the_target_itself_may_come_from_an_override_or_the_environment() -> None:
    text = LOCAL.replace("local", "${env:WHERE}")
    assert mistakes(text, environ={"WHERE": "local"}, overrides=REHEARSAL) == []
    assert mistakes(LOCAL.replace("local", "ec2"), overrides={"target": "local", **REHEARSAL}) == []


def test_an_override_repairs_a_wrong_value() -> None:
    text = EC2 + "engine: {context: few}\n"
    assert len(mistakes(text)) == 1
    assert load(text, overrides={"engine.context": "4096"}).spec.engine.context == 4096


def test_wrong_values_name_the_override() -> None:
    overrides = {"engine.context": "few", "endpoint.port.x": "1", "": "1", "engine..x": "1", "name": "[a"}
    assert mistakes(EC2 + "endpoint: {port: 1}\n", overrides=overrides) == [
        '--set "": is no dotted key; write for example engine.context=16384',
        "--set endpoint.port.x: endpoint.port is no mapping; set it as a whole: endpoint.port=…",
        '--set engine."".x: is no dotted key; write for example engine.context=16384',
        '--set engine.context: expected a whole number, got "few"',
        "--set name: the value cannot be read: the list opened here is not closed: `,` or `]` expected",
    ]


def test_mistakes_of_the_file_come_first() -> None:
    said = mistakes(EC2 + "engine: {contxt: 1}\n", overrides={"access.prot": "1"})
    assert said == [
        'x.yaml:5:10: engine.contxt: unknown key — did you mean "context"?',
        '--set access.prot: unknown key — did you mean "port"?',
    ]


def test_an_empty_override_is_nothing() -> None:
    spec = load(EC2 + "lifetime: {ttl: 2h}\n", overrides={"lifetime.ttl": ""}).spec
    assert isinstance(spec, Ec2Stack)
    assert spec.lifetime.ttl is None


def test_a_runtime_from_an_override_wins_over_the_image_of_the_file() -> None:
    text = EC2 + "engine: {image: 'example/llama:1'}\n"
    assert load(text, overrides=REHEARSAL).spec.engine.runtime == "process"
    both = {"engine.runtime": "process", "engine.image": "example/llama:1"}
    assert mistakes(EC2, overrides=both) == ["--set engine.image: no container image is used with runtime: process"]


def test_rules_see_overrides() -> None:
    assert mistakes(EC2, overrides={"access.port": "18080"}) == [
        "x.yaml:1:1: endpoint.port: 18080 is the SSH port too (access.port); they must differ"
    ]


def test_settings_bring_both_sources(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(EC2)
    environ = {"HOME": "/home/op", "DEPLOYER_SET": "engine.context=8192; engine.parallel=2"}
    settings = Settings.from_env(environ, overrides=("engine.parallel=3",))
    engine = load_spec(path, settings).spec.engine
    assert (engine.context, engine.parallel) == (8192, 3)


def test_the_error_is_located_for_scripts() -> None:
    with pytest.raises(SpecError) as raised:
        load(EC2, overrides={"engine.contxt": "1"})
    assert raised.value.where == "--set"
    assert vars(raised.value.diagnostics[0])["line"] == 1
