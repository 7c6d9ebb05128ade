"""systemd unit files as far as a process machine starts services from them. Pure.

Quoting, C escapes, specifiers and variables follow systemd.syntax(7), systemd.service(5) and systemd.exec(5).
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Restart = Literal["no", "always", "on-success", "on-failure"]

_SPAN_UNITS = {
    "": 1.0, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0,
    "m": 60.0, "min": 60.0, "minute": 60.0, "minutes": 60.0, "h": 3600.0, "hr": 3600.0, "hour": 3600.0, "hours": 3600.0,
    "d": 86400.0, "day": 86400.0, "days": 86400.0,
}  # fmt: skip
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)\s*")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
_NUMERIC = re.compile(r"x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}")
_VARIABLE = re.compile(r"\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_WHOLE_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_DIRECTORIES = {"t": "/run", "S": "/var/lib", "C": "/var/cache", "L": "/var/log", "E": "/etc"}


class UnitError(Exception):
    """The unit file says something systemd refuses, or that a process machine does not do."""


@dataclass(frozen=True)
class Unit:
    """One service. Durations in seconds; the defaults are systemd's.

    command: ExecStart's words with specifiers put in and variables not yet. start_limit: that many starts within that
    many seconds, then no more. success: exit statuses beside 0, and signals as negative numbers. kill_all: SIGTERM goes
    to every process of the service, not only to the main one. console: its output goes to the console too.
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


def parse_unit(name: str, text: str) -> Unit:
    """Read a .service file. Raises UnitError when it has no usable ExecStart or a value makes no sense."""
    settings = _assignments(text)

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
                environment[key] = _specifiers(name, value)
    words = tuple(_specifiers(name, word) for word in split_words(commands[0]))
    return Unit(
        name=name,
        command=(words[0].lstrip("-@:+!"), *words[1:]),
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
    )


def span(text: str) -> float:
    """A time span such as `5`, `500ms`, `1min 30s` or `infinity`, in seconds."""
    if text.strip() == "infinity":
        return float("inf")
    parts = _SPAN.findall(text.strip())
    if not parts or _SPAN.sub("", text.strip()) or any(unit not in _SPAN_UNITS for _, unit in parts):
        raise UnitError(f"{text!r} is not a time span")
    return sum(float(number) * _SPAN_UNITS[unit] for number, unit in parts)


def split_words(line: str) -> list[str]:
    """Split at white space; quotes join and are removed, C escapes are put in. Raises UnitError on an open quote."""
    words: list[str] = []
    word: str | None = None
    quote = ""
    at = 0
    while at < len(line):
        char = line[at]
        at += 1
        if char == "\\":
            text, at = _escape(line, at)
            word = (word or "") + text
        elif quote:
            if char == quote:
                quote = ""
            else:
                word = (word or "") + char
        elif char in "\"'":
            quote, word = char, word or ""
        elif char in " \t\n\r":
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + char
    if quote:
        raise UnitError(f"unbalanced quotes in {line!r}")
    return words if word is None else [*words, word]


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


def _escape(line: str, at: int) -> tuple[str, int]:
    """The text of the escape whose letter is at `at`, and where to go on. An unknown one stays as it is written."""
    if numeric := _NUMERIC.match(line, at):
        digits = numeric[0]
        base = 8 if digits[0].isdigit() else 16
        return chr(int(digits if base == 8 else digits[1:], base)), numeric.end()
    letter = line[at : at + 1]
    if letter in ("\\", '"', "'"):
        return letter, at + 1
    return _ESCAPES.get(letter, "\\" + letter), at + 1


def _specifiers(name: str, text: str) -> str:
    def value(match: re.Match[str]) -> str:
        letter = match[1]
        if letter == "%":
            return "%"
        if letter in _DIRECTORIES:
            return _DIRECTORIES[letter]
        if letter in ("n", "N", "p"):
            return name if letter == "n" else name.removesuffix(".service")
        raise UnitError(f"{name}: the specifier %{letter} is not understood here")

    return re.sub(r"%(.?)", value, text, flags=re.DOTALL)


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


def _assignments(text: str) -> dict[str, list[str]]:
    """Every `Key=Value` of all sections; an empty value forgets what came before it, as systemd's lists do."""
    settings: dict[str, list[str]] = {}
    lines = iter(text.splitlines())
    for line in lines:
        if not line.strip() or line.lstrip()[0] in "#;[":
            continue
        while line.endswith("\\"):
            following = next(lines, "")
            if following.lstrip()[:1] not in ("#", ";"):
                line = line[:-1] + " " + following
        key, equals, value = line.partition("=")
        if not equals:
            continue
        if value.strip():
            settings.setdefault(key.strip(), []).append(value.strip())
        else:
            settings[key.strip()] = []
    return settings
