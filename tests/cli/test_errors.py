"""Every mistake: what, where, what next, on stderr, with its exit code, never a traceback."""

from __future__ import annotations

import json

import click
import pytest

from deployer.cli import app
from deployer.cli.lazy import Lazy

#: Five different kinds of mistake, each on a line of its own.
FIVE = """\
name: Bad_Name
target: ec2
region: cn-northwest-1
instance:
  tpye: g5.xlarge
  type: g5.xlarge
model:
  name: Qwen3.6-27B
engine:
  context: a lot
  mtp: maybe
endpoint:
  expose: tunnel
  port: 99999
"""
LINES = {1, 5, 10, 11, 14}


def test_five_mistakes_are_five_located_errors_without_an_aws_call(deployer, aws_that_counts) -> None:
    spec = deployer.write("five.yaml", FIVE)
    for command in (("validate", spec), ("plan", spec), ("up", spec)):
        ran = deployer(*command)
        assert ran.code == 2
        located = [line for line in ran.err.splitlines() if line.startswith("five.yaml:")]
        assert {int(line.split(":")[1]) for line in located} == LINES and len(located) == 5
        assert 'instance.tpye: unknown key — did you mean "type"?' in ran.err
        assert "error: 5 mistakes in five.yaml" in ran.err
        assert ran.out == ""
    assert aws_that_counts.connections == []


def test_the_same_as_json(deployer) -> None:
    ran = deployer("validate", deployer.write("five.yaml", FIVE), "--json")
    assert ran.code == 2
    assert ran.error["code"] == "spec"
    assert {d["line"] for d in ran.error["diagnostics"]} == LINES
    assert ran.error["where"].startswith("five.yaml:1:")


def test_several_files_are_all_checked(deployer, shipped) -> None:
    bad = deployer.write("bad.yaml", FIVE)
    worse = deployer.write("worse.yaml", "name: x\n")
    ran = deployer("validate", bad, shipped, worse)
    assert ran.code == 2
    assert ran.out == f"{shipped}: ok\n"
    assert "bad.yaml:1:" in ran.err and "worse.yaml:" in ran.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["upp"], "did you mean 'up'?"),
        (["up"], "Missing argument 'SPEC'"),
        (["ls", "--nonsense"], "--nonsense"),
        (["completion", "tcsh"], "tcsh"),
        (["validate", "there-is-no.yaml"], "there-is-no.yaml"),
        (["down", "Not A Name"], "neither a stack's name nor a spec's path"),
        (["plan", "x.yaml", "--set", "nonsense"], "not of the form key=value"),
    ],
)
def test_usage_errors(arguments, says, deployer) -> None:
    ran = deployer(*arguments)
    assert ran.code == 2
    assert says in ran.err and "error:" in ran.err
    assert "Traceback" not in ran.err
    as_json = deployer(*arguments, "--json")
    assert as_json.code == 2
    assert says in as_json.error["message"]
    assert set(as_json.error) >= {"code", "message", "where", "hint"}


@click.command()
def _boom() -> None:
    raise RuntimeError("nobody thought of this")


@click.command()
@click.option("--json", "as_json", is_flag=True)
def _stopped(as_json: bool) -> None:
    raise KeyboardInterrupt


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setitem(app.COMMANDS, "boom", Lazy(f"{__name__}:_boom", ""))
    monkeypatch.setitem(app.COMMANDS, "stopped", Lazy(f"{__name__}:_stopped", ""))
    return app.run(list(arguments))


def test_what_nobody_foresaw_goes_to_a_log_file(monkeypatch, tmp_path, capsys) -> None:
    monkeypatch.setenv("DEPLOYER_HOME", str(tmp_path))
    assert _run(monkeypatch, "boom") == 1
    said = capsys.readouterr().err
    [log] = (tmp_path / "logs").iterdir()
    assert "error: unexpected RuntimeError: nobody thought of this" in said
    assert str(log) in said and "Traceback" not in said
    assert "Traceback" in log.read_text() and log.stat().st_mode & 0o777 == 0o600


def test_a_log_that_cannot_be_written_is_no_second_failure(monkeypatch, tmp_path, capsys) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DEPLOYER_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    assert _run(monkeypatch, "boom") == 1
    assert "no log could be written" in capsys.readouterr().err


def test_ctrl_c_says_what_next(monkeypatch, capsys) -> None:
    assert _run(monkeypatch, "stopped") == 130
    said = capsys.readouterr().err
    assert "error: interrupted" in said and "deployer down NAME" in said


def test_ctrl_c_as_json(monkeypatch, capsys) -> None:
    assert _run(monkeypatch, "stopped", "--json") == 130
    assert json.loads(capsys.readouterr().err.strip())["error"]["code"] == "interrupted"
