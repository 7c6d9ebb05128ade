"""Quoting for each language we render into: any text goes in, exactly that text comes out of the reader's parser."""

from __future__ import annotations

import json
import re
import shlex

_YAML_PLAIN_LINE = re.compile(r"[\x20-\x7e]*\Z")
_SYSTEMD_ESCAPES = {"\\": "\\\\", '"': '\\"', "%": "%%", "$": "$$", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def yaml_scalar(value: str | int | float | bool) -> str:
    """A YAML scalar on one line; text always in double quotes, so that no `no`, `1e3` or `: #` means something else."""
    if not isinstance(value, str):
        return json.dumps(value)
    quoted = json.dumps(value, ensure_ascii=False)
    # YAML's \u is one code point, JSON's may be half a surrogate pair: everything beyond ASCII is spelled YAML's way.
    return "".join(char if " " <= char <= "~" else _code_point(char) for char in quoted)


def _code_point(char: str) -> str:
    # YAML and systemd spell it alike.
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"


def yaml_block(text: str, indent: int) -> str:
    """A literal block (readable, and it compresses well) where YAML keeps the text exactly, else a quoted scalar.

    indent: columns of the key this is the value of.
    """
    lines = text.split("\n")
    exact = (
        len(lines) > 1
        and lines[-1] == ""
        and lines[-2] != ""
        and not lines[0].startswith(" ")
        and lines[0] != ""
        and all(_YAML_PLAIN_LINE.match(line) for line in lines)
    )
    if not exact:
        return yaml_scalar(text)
    pad = " " * (indent + 1)
    return "|\n" + "\n".join(pad + line if line else "" for line in lines[:-1])


def shell_quote(value: str) -> str:
    """One word for a POSIX shell. Raises ValueError on NUL, which no argument can hold."""
    _no_nul(value)
    return shlex.quote(value)


def systemd_quote(value: str) -> str:
    """One word of ExecStart=: C escapes in double quotes, `%` (specifiers) and `$` (variables) doubled."""
    _no_nul(value)
    if re.fullmatch(r"[A-Za-z0-9_@+=:,./-]+", value):
        return value
    return '"' + "".join(_SYSTEMD_ESCAPES.get(char) or _systemd_control(char) for char in value) + '"'


def _systemd_control(char: str) -> str:
    if char.isprintable():
        return char
    return f"\\x{ord(char):02x}" if ord(char) < 0x80 else _code_point(char)


def systemd_text(value: str) -> str:
    """The rest of a line such as Description=: `%` doubled; a line break would begin another setting: ValueError."""
    if re.search(r"[\x00-\x1f\x7f]", value) or value.endswith("\\"):
        raise ValueError(f"{value!r} cannot stand in a unit file")
    return value.replace("%", "%%")


def dockerfile_quote(value: str) -> str:
    """One value of ARG, ENV or LABEL. Raises ValueError on control characters: a Dockerfile has no escape for them."""
    if re.search(r"[\x00-\x1f\x7f]", value):
        raise ValueError(f"{value!r} cannot stand in a Dockerfile")
    return '"' + re.sub(r'([\\"$])', r"\\\1", value) + '"'


def _no_nul(value: str) -> None:
    if "\x00" in value:
        raise ValueError("a NUL character cannot be passed to a program")
