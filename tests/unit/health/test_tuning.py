"""A tuning as its client sees it: asked for, followed on the console, taken back."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from deployer.agent.protocol import encode_line
from deployer.errors import NotHealthyError
from deployer.events import Event
from deployer.health.agent import BASE_SECONDS, TUNING_SECONDS, AgentPhases
from deployer.health.base import Observation
from deployer.health.console import ConsoleReader
from deployer.health.phases import latest
from deployer.targets.tuning import BEGIN_SECONDS, tune
from tests.support.clock import FakeClock


class _There:
    name = "instance"
    deadline_seconds = 1.0
    decides = True

    def check(self) -> Observation:
        return Observation("passed", "there")


class _Mailbox:
    def __init__(self) -> None:
        self.put_in: list[tuple[str, str]] = []

    def put(self, name: str, text: str) -> None:
        self.put_in.append((name, text))


def _ask(mailbox: _Mailbox, console: Callable[[], str], events: list[Event]) -> None:
    tune(
        mailbox,
        instance=_There(),
        console=console,
        base_url="http://127.0.0.1:9",
        alias="tiny",
        certificate=None,
        api_key="k",
        measure_only=True,
        clock=FakeClock(),
        emit=events.append,
    )


READY = encode_line("boot", "start", 1.0) + "\n" + encode_line("ready", "done", 2.0) + "\n"


def test_an_agent_that_does_not_know_how_is_told_as_such() -> None:
    mailbox, events = _Mailbox(), list[Event]()
    with pytest.raises(NotHealthyError, match=f"not within {BEGIN_SECONDS:.0f} s") as raised:
        _ask(mailbox, lambda: READY, events)
    assert "older deployer" in (raised.value.hint or "")
    assert [name for name, _ in mailbox.put_in] == ["tune-request.json", "tune-cancel"]
    assert json.loads(mailbox.put_in[0][1])["keep"] is True
    # What the console said before is not told again.
    assert [event for event in events if event.name == "phase"] == []


def test_ctrl_c_takes_it_back() -> None:
    mailbox, seen = _Mailbox(), [READY, READY, READY + encode_line("tuning", "start", 3.0) + "\n"]

    def console() -> str:
        if not seen:
            raise KeyboardInterrupt
        return seen.pop(0)

    with pytest.raises(KeyboardInterrupt):
        _ask(mailbox, console, [])
    assert [name for name, _ in mailbox.put_in] == ["tune-request.json", "tune-cancel"]


def test_a_machine_that_measures_itself_is_not_ready_and_gets_its_time() -> None:
    text = READY + encode_line("tuning", "start", 3.0) + "\n"
    agent = AgentPhases(lambda: text, lambda _: None)
    assert agent.check().state == "waiting"
    assert (agent.tuning, agent.deadline_seconds) == (True, BASE_SECONDS + TUNING_SECONDS)
    assert [line.phase for line in latest(ConsoleReader().read(text))] == ["boot", "tuning"]
    text += encode_line("tuning", "done", 4.0, detail={"v": 1, "rows": [], "id": "x", "applied": True}) + "\n"
    assert agent.check().state == "waiting"
    text += encode_line("ready", "done", 5.0, detail={"tuned": {"drafts": 1}}) + "\n"
    assert agent.check().state == "passed"
    assert agent.facts.tuning is not None and agent.facts.tuning.id == "x"
