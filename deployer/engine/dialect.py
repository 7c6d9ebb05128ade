"""Which flags a llama.cpp build knows. An unknown or removed flag ends llama-server at start, so plans check first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from deployer.catalog.closest import did_you_mean
from deployer.catalog.source import document

DEFAULT_BUILD = "b11549"


@dataclass(frozen=True)
class Flag:
    """One flag with all its names. takes: how many values follow it. values: the closed set, empty when open.
    as_list: several values of the set may stand in one word, separated by commas.
    """

    names: tuple[str, ...]
    takes: int
    values: tuple[str, ...] = ()
    as_list: bool = False


@dataclass(frozen=True)
class Dialect:
    """The flags of one build. removed: former flag -> what to write instead."""

    build: str
    flags: Mapping[str, Flag]
    removed: Mapping[str, str]

    @property
    def number(self) -> int:
        """The build's number: 11549 for `b11549`."""
        return int(self.build.removeprefix("b"))


@dataclass(frozen=True)
class Use:
    """One flag as it stands in an argument list. index: of the flag's word."""

    index: int
    name: str
    flag: Flag
    values: tuple[str, ...]


@dataclass(frozen=True)
class Problem:
    """One thing llama.cpp would refuse. index: of the word in the list that was checked."""

    index: int
    message: str
    hint: str | None = None


def builds() -> list[str]:
    """The builds the catalogue has a table for."""
    return list(document("dialects")["builds"])


@lru_cache(maxsize=8)
def dialect(build: str = DEFAULT_BUILD) -> Dialect:
    """The dialect of a build. Raises KeyError for a build without a table."""
    table = document("dialects")["builds"][build]
    flags = [
        Flag(tuple(row["names"]), row["takes"], tuple(row.get("values", ())), bool(row.get("list")))
        for row in table["flags"]
    ]
    return Dialect(
        build=build,
        flags={name: flag for flag in flags for name in flag.names},
        removed={name: row["replacement"] for row in table["removed"] for name in row["names"]},
    )


def parse(args: Sequence[str], dialect: Dialect) -> tuple[list[Use], list[Problem]]:
    """Take an argument list apart as llama.cpp does: a flag is followed by exactly as many values as it takes."""
    uses: list[Use] = []
    problems: list[Problem] = []
    index = 0
    while index < len(args):
        word = _spelt(args[index])
        flag = dialect.flags.get(word)
        if flag is None:
            problems.append(_unknown(index, word, dialect))
            index += 1
            continue
        values = tuple(args[index + 1 : index + 1 + flag.takes])
        if len(values) < flag.takes:
            problems.append(Problem(index, f"{word} needs a value", _choices(flag)))
        problems.extend(_bad_values(index + 1, word, flag, values))
        uses.append(Use(index, word, flag, values))
        index += 1 + len(values)
    return uses, problems


def _spelt(word: str) -> str:
    # llama.cpp takes --ctx_size for --ctx-size.
    return word.replace("_", "-") if word.startswith("--") else word


def _bad_values(first: int, name: str, flag: Flag, values: tuple[str, ...]) -> list[Problem]:
    if not flag.values:
        return []
    words = [(first + at, word) for at, value in enumerate(values) for word in _words(flag, value)]
    return [
        Problem(at, f"{name} does not take {word!r}{did_you_mean(word, flag.values)}", _choices(flag))
        for at, word in words
        if word not in flag.values
    ]


def _words(flag: Flag, value: str) -> list[str]:
    return value.split(",") if flag.as_list else [value]


def _choices(flag: Flag) -> str | None:
    return f"one of {', '.join(flag.values)}" if flag.values else None


def _unknown(index: int, word: str, dialect: Dialect) -> Problem:
    if word in dialect.removed:
        return Problem(index, f"llama.cpp {dialect.build} has removed {word}", f"use {dialect.removed[word]}")
    if " " in word.strip() or "=" in word:
        name = word.replace("=", " ").split()[0] if word.strip(" =") else word
        if name in dialect.flags or name in dialect.removed:
            return Problem(index, f"{word!r} is one word", "write the flag and its value as two entries of the list")
    if not word.startswith("-"):
        return Problem(index, f"{word!r} is a value without a flag", "write the flag as the entry before it")
    return Problem(index, f"llama.cpp {dialect.build} does not know {word}{did_you_mean(word, dialect.flags)}")
