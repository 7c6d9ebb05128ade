"""systemd unit files as far as a process machine starts services from them. Pure.

Quoting, C escapes, specifiers and variables follow systemd.syntax(7), systemd.service(5) and systemd.exec(5).
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from deployer.rehearsal.machines.unit_syntax import UnitError, assignments, put_in_specifiers, span, split_words

Restart = Literal["no", "always", "on-success", "on-failure"]

_VARIABLE = re.compile(r"\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_WHOLE_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True)
class Unit:
    """One service. Durations in seconds; the defaults are systemd's.

    command: ExecStart's words with specifiers put in and variables not yet. start_limit: that many starts within that
    many seconds, then no more. success: exit statuses beside 0, and signals as negative numbers. kill_all: SIGTERM goes
    to every process of the service, not only to the main one. console: its output goes to the console too.
    stop_post: ExecStopPost's words.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    oneshot: bool = False
    restart: Restart = "no"
    restart_seconds: float = 0.1
    start_limit: tuple[int, float] = (5, 10.0)
    stop_seconds: float = 90.0
    success: frozenset[int] = frozenset()
    kill_all: bool = True
    console: bool = False
    wanted_by: tuple[str, ...] = ()
    stop_post: tuple[str, ...] = ()


def parse_unit(name: str, text: str) -> Unit:
    """Read a .service file. Raises UnitError when it has no usable ExecStart or a value makes no sense."""
    settings = assignments(text)

    def last(key: str, default: str) -> str:
        values = settings.get(key, [])
        return values[-1] if values else default

    commands = [value for value in settings.get("ExecStart", []) if value]
    if len(commands) != 1:
        raise UnitError(f"{name}: needs exactly one ExecStart=, has {len(commands)}")
    kind = last("Type", "simple")
    if kind not in ("simple", "exec", "oneshot"):
        raise UnitError(f"{name}: Type={kind} is not understood here")
    environment: dict[str, str] = {}
    for line in settings.get("Environment", []):
        for word in split_words(line):
            key, equals, value = word.partition("=")
            if equals and key.isidentifier():
                environment[key] = put_in_specifiers(name, value)
    afterwards = settings.get("ExecStopPost", [])
    if len(afterwards) > 1:
        raise UnitError(f"{name}: one ExecStopPost= is understood here")
    return Unit(
        name=name,
        command=_command(name, commands[0]),
        environment=environment,
        oneshot=kind == "oneshot",
        restart=_restart(name, last("Restart", "no")),
        restart_seconds=span(last("RestartSec", "100ms")),
        start_limit=(int(last("StartLimitBurst", "5")), span(last("StartLimitIntervalSec", "10"))),
        stop_seconds=span(last("TimeoutStopSec", last("TimeoutSec", "90"))),
        success=_statuses(settings.get("SuccessExitStatus", [])),
        kill_all=last("KillMode", "control-group") == "control-group",
        console="console" in last("StandardOutput", "journal"),
        wanted_by=tuple(word for line in settings.get("WantedBy", []) for word in line.split()),
        stop_post=_command(name, afterwards[0]) if afterwards else (),
    )


def _command(name: str, text: str) -> tuple[str, ...]:
    """The words, without the marks in front of the first."""
    first, *others = (put_in_specifiers(name, word) for word in split_words(text))
    return first.lstrip("-@:+!"), *others


def expand(command: tuple[str, ...], environment: Mapping[str, str]) -> list[str]:
    """Put variables in: `${NAME}` anywhere, `$NAME` as a word of its own (split at white space), `$$` for a dollar.

    The first word is taken as it is.
    """
    words = [command[0]]
    for word in command[1:]:
        if whole := _WHOLE_VARIABLE.fullmatch(word):
            words += split_words(environment.get(whole[1], ""))
        else:
            words.append(_VARIABLE.sub(lambda m: environment.get(m[1], "") if m[1] else "$", word))
    return words


def _restart(name: str, text: str) -> Restart:
    match text:
        case "no" | "always" | "on-success" | "on-failure":
            return text
        case _:
            raise UnitError(f"{name}: Restart={text} is not understood here")


def _statuses(lines: list[str]) -> frozenset[int]:
    found: set[int] = set()
    for word in " ".join(lines).split():
        found.add(int(word) if word.isdigit() else -int(signal.Signals[word]))
    return frozenset(found)
