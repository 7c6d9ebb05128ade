"""Reads llama-server's command line and environment, and refuses with llama.cpp's own words. Pure.

A flag that llama.cpp has and this command does not carry out has its values checked, is read past and named on the
log, so that a rehearsal refuses exactly what the box would refuse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deployer.engine.dialect import dialect
from deployer.rehearsal.engine.flags import DEFAULT_PORT, FLAGS, GROUPS, REMOVED, Flag, Member, Value, speculative_type
from deployer.rehearsal.engine.numbers import check

_SWITCH_ON = ("1", "on", "true", "enabled")
_SWITCH_OFF = ("0", "off", "false", "disabled")


class FlagError(ValueError):
    """The command line or environment is refused; the text is what llama-server prints before it exits with 1."""


@dataclass
class Invocation:
    """params: dotted attributes of CommonParams to set. The rest are the flags that mean more than one attribute.

    speculative accumulates over variable and flags, as in llama.cpp. wants: `help`, `version` or `list-devices`.
    without_effect: flags that were read past.
    """

    params: dict[str, Value] = field(default_factory=lambda: {"port": DEFAULT_PORT})
    host: str = "127.0.0.1"
    aliases: tuple[str, ...] = ()
    api_keys: tuple[str, ...] = ()
    api_key_files: tuple[str, ...] = ()
    devices: str | None = None
    speculative: tuple[Member, ...] = ()
    wants: str | None = None
    without_effect: tuple[str, ...] = ()


def parse(argv: Sequence[str], environ: Mapping[str, str]) -> Invocation:
    """Variables first, then flags, which win. Raises FlagError."""
    invocation = Invocation()
    for name, message in REMOVED.items():
        if name in environ:
            raise FlagError(f'error while handling environment variable "{name}": {message}')
    for flag in FLAGS:
        if flag.env is not None and flag.env in environ:
            _take_variable(invocation, flag, flag.env, environ[flag.env])
    by_name = {name: flag for flag in FLAGS for name in flag.names}
    words = iter(argv)
    for word in words:
        name = word.replace("_", "-") if word.startswith("--") else word
        if name in REMOVED:
            raise FlagError(_handling(word, REMOVED[name]))
        if name in by_name:
            _take_flag(invocation, by_name[name], word, words)
        else:
            _read_past(invocation, name, word, words)
    return invocation


def usage() -> str:
    """What --help prints: each flag with all its names, as a probe of the dialect reads it."""
    lines: list[str] = []
    for title, flags in GROUPS.items():
        lines.append(f"----- {title} -----\n")
        for flag in flags:
            head = ", ".join(flag.names) + (f" {flag.value}" if flag.value else "")
            lines.append(f"{head:<40}{flag.help}")
            if flag.env:
                lines.append(f"{'':<40}(env: {flag.env})")
        lines.append("")
    own = {name for flag in FLAGS for name in flag.names}
    others = {flag.names: flag.takes for flag in dialect().flags.values() if not own & set(flag.names)}
    lines.append("----- taken without effect -----\n")
    lines += [", ".join(names) + " VALUE" * takes for names, takes in others.items()]
    return "\n".join(lines)


def _read_past(invocation: Invocation, name: str, word: str, words: Iterator[str]) -> None:
    known = dialect().flags.get(name)
    if known is None:
        raise FlagError(f"error: invalid argument: {word}")
    for _ in range(known.takes):
        text = next(words, None)
        if text is None:
            raise FlagError(_handling(word, "expected value for argument"))
        try:
            check(known, text)
        except ValueError as error:
            raise FlagError(_handling(word, str(error))) from None
    invocation.without_effect += (name,)


def _take_flag(invocation: Invocation, flag: Flag, word: str, words: Iterator[str]) -> None:
    if flag.value is None:
        _apply(invocation, flag, flag.constant)
        return
    text = next(words, None)
    if text is None:
        raise FlagError(_handling(word, "expected value for argument"))
    try:
        _apply(invocation, flag, flag.convert(text))
    except ValueError as error:
        raise FlagError(_handling(word, str(error))) from None


def _take_variable(invocation: Invocation, flag: Flag, name: str, text: str) -> None:
    if flag.value is None:
        if text in _SWITCH_ON:
            _apply(invocation, flag, flag.constant)
        elif text in _SWITCH_OFF:
            if any(other.targets == flag.targets and other.constant is False for other in FLAGS):
                _apply(invocation, flag, False)
        else:
            raise FlagError(f"error while handling environment variable \"{name}\": unknown value '{text}'")
        return
    try:
        _apply(invocation, flag, flag.convert(text))
    except ValueError as error:
        raise FlagError(f'error while handling environment variable "{name}": {error}') from None


def _handling(word: str, message: str) -> str:
    return f'error while handling argument "{word}": {message}\n\nto show complete usage, run with -h'


def _apply(invocation: Invocation, flag: Flag, value: Value) -> None:
    match flag.targets, value:
        case ("help" | "version" | "list-devices" as wish,), _:
            invocation.wants = invocation.wants or wish
        case ("host",), str():
            invocation.host = value
        case ("alias",), list():
            invocation.aliases = tuple(value)
        case ("api-key",), list():
            invocation.api_keys += tuple(value)
        case ("api-key-file",), str():
            invocation.api_key_files += (value,)
        case ("device",), str():
            invocation.devices = value
        case ("spec-type",), list():
            invocation.speculative += tuple(speculative_type(name) for name in value)
        case targets, _:
            invocation.params.update(dict.fromkeys(targets, value))
