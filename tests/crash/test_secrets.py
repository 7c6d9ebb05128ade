"""A stack's secrets stay where they belong also when a call fails: nothing that is sent, told or raised holds them."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deployer.aws.resources import api_key
from deployer.errors import DeployerError
from tests.cloud.conftest import client_of
from tests.crash.operating import READING, Account

KEY = "sk-crash-1f0e9d8c7b6a5948372615049382716a"
DENIED = {"ec2": "UnauthorizedOperation", "ssm": "AccessDeniedException"}


@pytest.mark.parametrize("verb", ["up", "change", "down"], indirect=True)
def test_no_failed_call_tells_a_secret(
    verb: Any,
    calls: list[tuple[str, str]],
    account: Callable[..., Account],
    row: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(api_key, "new_api_key", lambda: KEY)
    wrong: dict[str, list[str]] = {}
    for service, operation in calls:
        one = account(verb)
        # What changes something is done and not answered, what only looks is refused.
        fault = {"code": DENIED.get(service, "AccessDenied"), "status": 403}
        lost = {"when": "after"}
        one.operator.fault(
            **(fault if operation.startswith(READING) else lost), service=service, operation=operation, times=0
        )
        told = ""
        try:
            one.act()
        except DeployerError as error:
            told = "".join(traceback.format_exception(error)) + repr(vars(error))
        told += json.dumps([[event.name, dict(event.fields)] for event in one.operator.events], default=str)
        told += "".join(capfd.readouterr()) + caplog.text
        private = _private_parts(Path(one.operator.settings.home))
        if found := _found(one, told, private):
            wrong[f"{service}:{operation}"] = found
        one.cloud.close()
    row(f"secrets stay secret, each call of {verb} fails", len(calls), len(calls) - len(wrong))
    assert not wrong


def test_what_is_searched_holds_what_it_should(
    account: Callable[..., Account], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search itself finds something, and the key that is looked for is the one in use."""
    monkeypatch.setattr(api_key, "new_api_key", lambda: KEY)
    one = account("up")
    one.act()
    assert one.cloud.record.places(b"deployer-demo-role")
    kept = client_of(one.cloud.url, "ssm").get_parameter(Name="/deployer/keys/demo", WithDecryption=True)
    assert kept["Parameter"]["Value"] == KEY
    assert _private_parts(Path(one.operator.settings.home))


def _private_parts(home: Path) -> list[str]:
    """The middle lines of every private SSH key; a file with one is nobody else's to read."""
    found = []
    for path in home.rglob("*"):
        if path.is_file() and "PRIVATE KEY" in (text := path.read_text(errors="replace")):
            assert os.stat(path).st_mode & 0o077 == 0, path
            found.append(text.splitlines()[2])
    return found


def _found(one: Account, told: str, private: list[str]) -> list[str]:
    secrets = [KEY, *private]
    found = [f"told: {told[max(0, told.find(s) - 80) :][:160]}" for s in secrets if s in told]
    return found + [place for secret in secrets for place in one.cloud.record.places(secret.encode())]
