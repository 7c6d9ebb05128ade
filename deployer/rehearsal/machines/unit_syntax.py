"""The syntax of unit files: assignments, words, escapes, specifiers, spans (systemd.syntax(7), systemd.time(7))."""

from __future__ import annotations

import re

_SPAN_UNITS = {
    "": 1.0, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0,
    "m": 60.0, "min": 60.0, "minute": 60.0, "minutes": 60.0, "h": 3600.0, "hr": 3600.0, "hour": 3600.0, "hours": 3600.0,
    "d": 86400.0, "day": 86400.0, "days": 86400.0,
}  # fmt: skip
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)\s*")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
_NUMERIC = re.compile(r"x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}")
_SPACE = " \t\n\r"
_DIRECTORIES = {"t": "/run", "S": "/var/lib", "C": "/var/cache", "L": "/var/log", "E": "/etc"}


class UnitError(Exception):
    """The unit file says something systemd refuses, or that a process machine does not do."""


def assignments(text: str) -> dict[str, list[str]]:
    """Every `Key=Value` of all sections; an empty value forgets what came before it, as systemd's lists do."""
    settings: dict[str, list[str]] = {}
    # Only a line feed ends a line and only these characters are space: Python knows more of both than systemd.
    lines = iter(text.split("\n"))
    for line in lines:
        if not line.strip(_SPACE) or line.lstrip(_SPACE)[0] in "#;[":
            continue
        while line.endswith("\\"):
            following = next(lines, "")
            if following.lstrip(_SPACE)[:1] not in ("#", ";"):
                line = line[:-1] + " " + following
        key, equals, value = line.partition("=")
        if not equals:
            continue
        key, value = key.strip(_SPACE), value.strip(_SPACE)
        if value:
            settings.setdefault(key, []).append(value)
        else:
            settings[key] = []
    return settings


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
        elif char in _SPACE:
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + char
    if quote:
        raise UnitError(f"unbalanced quotes in {line!r}")
    return words if word is None else [*words, word]


def put_in_specifiers(name: str, text: str) -> str:
    """Specifiers of the unit called `name`; `%%` is a percent sign. Raises UnitError on one that is not understood."""

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
