"""The agent's lines out of a console that is only ever a tail: cut in front, cut in mid-line, repeated."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from deployer.agent.protocol import CONSOLE_PREFIX, decode_line
from deployer.events import Json

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class AgentLine:
    """One console line of the agent; what was left out is None or empty. Text is free of control characters."""

    phase: str
    state: str
    ts: float | None = None
    percent: float | None = None
    bytes: int | None = None
    total_bytes: int | None = None
    seconds: float | None = None
    code: str | None = None
    message: str | None = None
    hint: str | None = None
    log: tuple[str, ...] = ()
    certificate: str | None = None
    detail: dict[str, Json] = field(default_factory=dict)


class ConsoleReader:
    """Gives each agent line once, in the order of the console, however often and however cut the text is shown."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def read(self, text: str) -> list[AgentLine]:
        """The lines of `text` that no earlier call gave. A line whose end is missing waits for a later call."""
        fresh: list[AgentLine] = []
        for line in text.splitlines():
            at = line.find(CONSOLE_PREFIX)
            if at < 0:
                continue
            key = line[at:].rstrip()
            if key in self._seen:
                continue
            body = decode_line(key)
            if body is not None:
                self._seen.add(key)
                fresh.append(_line(body))
        return fresh


def _line(body: dict[str, object]) -> AgentLine:
    log = body.get("log")
    detail, certificate = body.get("detail"), body.get("certificate")
    return AgentLine(
        phase=str(body["phase"]),
        state=str(body["state"]),
        ts=_number(body.get("ts")),
        percent=_number(body.get("percent")),
        bytes=_whole(body.get("bytes")),
        total_bytes=_whole(body.get("total_bytes")),
        seconds=_number(body.get("seconds")),
        code=_text(body.get("code")),
        message=_text(body.get("message")),
        hint=_text(body.get("hint")),
        log=tuple(_CONTROL.sub("", str(entry)) for entry in log) if isinstance(log, list) else (),
        certificate=certificate if isinstance(certificate, str) else None,
        detail=detail if isinstance(detail, dict) else {},
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return _CONTROL.sub("", value) if isinstance(value, str) else None
